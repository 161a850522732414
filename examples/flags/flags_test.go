package main

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"parley"
	"parley/account"
	"parley/account/storetest"
	"parley/client"
	"parley/internal/patient"
	"parley/world"
)

// The program is to be read in one sitting.
func TestTheProgramIsSmall(t *testing.T) {
	lines := 0
	for _, name := range []string{"main.go", "game.go", "play.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
	}
	if lines > 250 {
		t.Errorf("%d lines, want at most 250", lines)
	}
}

// A whole match of four, over four dialects: each runs for the other team's flag and back, and all are told the same end.
func TestAMatchOverFourDialects(t *testing.T) {
	s, err := parley.Start(game, parley.Config{
		Replica: "127.0.0.1:0", Relay: "127.0.0.1:0", Duplex: "127.0.0.1:0", Realm: "127.0.0.1:0", RealmTime: "127.0.0.1:0", Stamp: parley.Off,
		DataDir: t.TempDir(), Accounts: func(string) (account.Store, error) { return &storetest.Memory{}, nil },
		TickRate: tickRate, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Open(parley.Room{Name: "match"}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	runners := map[string]*runner{}
	for _, a := range s.Addrs() {
		if strings.Contains(a.Name, "-") { // a second address of realm or duplex
			continue
		}
		r := &runner{dialect: a.Name}
		runners[a.Name] = r
		wg.Go(func() { r.play(t, fmt.Sprintf("%s://%v", a.Name, a.Addr)) })
	}
	patient.Done(wg.Wait)
	result, _ := s.Result("match")
	teams := map[uint8]int{}
	for _, r := range runners {
		teams[r.team]++
		if !strings.HasSuffix(r.end, result.Result) || r.score != goal {
			t.Errorf("%s was told %q with %d flags, and the match ended with %q", r.dialect, r.end, r.score, result.Result)
		}
	}
	if len(runners) != 4 || teams[0] != 2 || teams[1] != 2 || !strings.HasSuffix(result.Result, "wins") {
		t.Errorf("%d players, teams %v, result %q", len(runners), teams, result.Result)
	}
}

const tickRate = 100

// runner is a player who runs by itself.
type runner struct {
	dialect string
	team    uint8
	score   uint8 // of the better team, as it was seen last
	end     string
}

func (r *runner) play(t *testing.T, url string) {
	c, err := client.Dial(t.Context(), url, game, client.Config{Name: "runner-" + r.dialect, Password: "a runner's word", Room: "match", TickRate: tickRate})
	if err != nil {
		t.Errorf("%s: %v", r.dialect, err)
		return
	}
	defer c.Close()
	for frame := range c.Frames(60) {
		for ev := range frame.Events() {
			if ev.Kind == client.Ended {
				r.end = ev.Text
			}
		}
		for _, s := range client.All[Score](frame) {
			r.score = max(s.Flags[0], s.Flags[1])
		}
		if me, ok := client.Own[Runner](frame); ok && r.end == "" {
			r.team = me.Team
			x, y := r.way(frame, me)
			if angle := world.Heading(me.X, me.Y, x, y); math.Abs(float64(angle-me.Angle)) > .02 || me.Norm == 0 {
				if err := c.Steer(angle, speed); err != nil {
					t.Errorf("%s: %v", r.dialect, err)
				}
			}
		}
	}
}

// way is where to run to next: for the other team's flag or home with it, through the lower gate.
func (r *runner) way(frame *client.Frame, me *Runner) (x, y float64) {
	to := home(1 - me.Team)
	for _, f := range client.All[Flag](frame) {
		if f.Team != me.Team && f.Carrier == frame.Own() {
			to = home(me.Team)
		}
	}
	const middle, gate = width / 2, 2
	side := math.Copysign(3, to.X-middle)
	switch {
	case (me.X-middle)*side > 1: // on the right side of the wall
		return to.X, to.Y
	case me.Y < gate+.7:
		return middle + side, gate
	}
	return middle - side, gate
}
