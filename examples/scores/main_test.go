package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"parley"
	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/protocol/relay"
	"parley/world"
)

// childEnv makes the test binary the program, with players, until it is killed: how it keeps rooms, and the data folder.
const childEnv = "PARLEY_SCORES_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		var keep parley.Keep
		var dir string
		if _, err := fmt.Sscanf(what, "%d %s", &keep, &dir); err != nil {
			panic(err)
		}
		panic(child(keep, dir))
	}
	os.Exit(m.Run())
}

func config(keep parley.Keep, dir string) parley.Config {
	return parley.Config{
		Relay: "127.0.0.1:0", Replica: parley.Off, Stamp: parley.Off, Duplex: parley.Off, Realm: parley.Off,
		TickRate: 100, Hold: time.Second, Keep: keep, DataDir: dir, Log: slog.New(slog.DiscardHandler),
	}
}

// child serves, keeps scores, and throws. It prints a line when something was saved.
func child(keep parley.Keep, dir string) error {
	ctx := context.Background()
	server, err := parley.Start(game, config(keep, dir))
	if err != nil {
		return err
	}
	db, err := openScores(filepath.Join(dir, "scores.db"))
	if err != nil {
		return err
	}
	for range 3 {
		go throwAll(ctx, server.Addrs()[0].Addr.String())
	}
	go func() {
		for before := 0; ; {
			if n, _, err := saved(db); err == nil && n > before {
				fmt.Println(n)
				before = n
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return keepScores(ctx, server, db, parley.MainRoom)
}

// throwAll is a player who throws until the program is killed.
func throwAll(ctx context.Context, addr string) {
	c, err := relay.Dial(ctx, addr, relay.Config{})
	if err != nil {
		panic(err)
	}
	go func() {
		for range c.Events() {
		}
	}()
	for {
		_ = c.Send(relay.SemiOrdered, relay.ToServer, []byte{1, 0, 0, 0}) // action 0, points 0; a full window is no matter
		time.Sleep(15 * time.Millisecond)
	}
}

// saved returns the throws and points that the database has.
func saved(db *sql.DB) (throws, points int, err error) {
	err = db.QueryRow("SELECT coalesce(sum(throws), 0), coalesce(sum(points), 0) FROM scores").Scan(&throws, &points)
	return throws, points, err
}

// The program is killed again and again while players throw. In the end the database has each throw of the world once.
func TestNoScoreIsLostOrDoubled(t *testing.T) {
	if testing.Short() || chance.Race {
		t.Skip("starts the program again and again")
	}
	kills := 2
	if os.Getenv("PARLEY_FULL") != "" {
		kills = 30
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed=%d", seed)
	for _, keep := range []parley.Keep{parley.KeepSecond, parley.KeepTick} {
		t.Run(keep.String(), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(keep)))
			dir, least := t.TempDir(), 0
			for range kills {
				least = killedAfter(t, keep, dir, 1+r.IntN(40))
			}
			judge(t, keep, dir, least)
		})
	}
}

// killedAfter runs the program until it has saved so many more throws, kills it, and returns how many throws it is known to have saved.
func killedAfter(t *testing.T, keep parley.Keep, dir string, more int) (last int) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childEnv, keep, dir))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer patient.End().Stop()
	first := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = last
		}
		if last >= first+more {
			break
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := c.Wait(); err == nil || first < 0 {
		t.Fatalf("the program ended by itself: %v", err)
	}
	return last
}

// judge starts the program once more, without players, and compares the database with the world.
func judge(t *testing.T, keep parley.Keep, dir string, least int) {
	server, err := parley.Start(game, config(keep, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	db, err := openScores(filepath.Join(dir, "scores.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- keepScores(ctx, server, db, parley.MainRoom) }()
	var board Board
	if err := server.View(parley.MainRoom, func(w *world.World) {
		for _, b := range world.All[Board](w) {
			board = *b
		}
	}); err != nil {
		t.Fatal(err)
	}
	var throws, points int
	patient.Until(t, "all throws are saved", func() bool {
		if throws, points, err = saved(db); err != nil {
			t.Fatal(err)
		}
		return throws >= int(board.Throws) || len(done) > 0
	})
	stop()
	if err := patient.Value(done); err != nil {
		t.Error(err)
	}
	if throws, points, err = saved(db); err != nil || throws != int(board.Throws) || points != int(board.Points) || throws < least {
		t.Errorf("%d throws with %d points are saved, the world has %d with %d, and %d were saved before: %v", throws, points, board.Throws, board.Points, least, err)
	}
	t.Logf("%d throws, %d points", throws, points)
}
