package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/patient"
	"parley/test/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open runs a table at a real socket and returns its address.
func open(t *testing.T) string {
	words, end := stage.Serve(t, func(ctx context.Context, out io.Writer) error { return serve(ctx, "127.0.0.1:0", out) })
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("the table closed with %v", err)
		}
	})
	return words[5]
}

// result is how a game ended for one player.
type result struct {
	player *player
	winner mark
	err    error
}

// sit has a player play who chooses squares by a function.
func sit(t *testing.T, addr string, choose func(b board, me mark) (int, error)) chan result {
	done := make(chan result, 1)
	p := &player{choose: choose, show: func(board) {}}
	go func() {
		winner, err := p.play(t.Context(), addr)
		done <- result{p, winner, err}
	}()
	return done
}

// script plays given squares, in their order, of X and of O.
func script(x, o []int) func(b board, me mark) (int, error) {
	return func(b board, me mark) (int, error) {
		if me == markX {
			return x[b.turns/2], nil
		}
		return o[b.turns/2], nil
	}
}

// A whole game over real sockets: both have the same board at its end.
func TestAWholeGame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		x, o   []int
		winner mark
		turns  byte
	}{
		{"X wins", []int{0, 1, 2}, []int{3, 4}, markX, 5},
		{"O wins", []int{0, 1, 8}, []int{3, 4, 5}, markO, 6},
		{"nobody wins", []int{0, 1, 5, 6, 8}, []int{2, 3, 4, 7}, nobody, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := open(t)
			a, b := sit(t, addr, script(tt.x, tt.o)), sit(t, addr, script(tt.x, tt.o))
			x, y := patient.Value(a), patient.Value(b)
			if x.err != nil || y.err != nil {
				t.Fatal(x.err, y.err)
			}
			if x.player.board != y.player.board || x.winner != tt.winner || y.winner != tt.winner || x.player.board.turns != tt.turns {
				t.Errorf("%s and %s won\n%v\n%v", x.winner, y.winner, &x.player.board, &y.player.board)
			}
			if x.player.mark == y.player.mark {
				t.Error("both have the same mark")
			}
		})
	}
}

// Random games always end, and with the same board at both.
func TestRandomGames(t *testing.T) {
	random := func(seed uint64) func(b board, _ mark) (int, error) {
		r := rand.New(rand.NewPCG(seed, 3))
		return func(b board, _ mark) (int, error) {
			for {
				if square := r.IntN(9); b.squares[square] == nobody {
					return square, nil
				}
			}
		}
	}
	for seed := range uint64(10) {
		addr := open(t)
		a, b := sit(t, addr, random(seed)), sit(t, addr, random(seed+100))
		x, y := patient.Value(a), patient.Value(b)
		if x.err != nil || y.err != nil || x.player.board != y.player.board || !x.player.board.over() {
			t.Fatalf("seed=%d: %v, %v\n%v\n%v", seed, x.err, y.err, &x.player.board, &y.player.board)
		}
	}
}

// A third one finds no place, and does not disturb the two.
func TestTheTableIsForTwo(t *testing.T) {
	addr := open(t)
	begun, full := make(chan struct{}), make(chan struct{})
	slow := func(b board, me mark) (int, error) {
		if b.turns == 0 {
			close(begun)
			patient.Value(full)
		}
		return script([]int{0, 1, 2}, []int{3, 4})(b, me)
	}
	a, b := sit(t, addr, slow), sit(t, addr, slow)
	patient.Value(begun)
	if third := patient.Value(sit(t, addr, slow)); third.err == nil || !strings.Contains(third.err.Error(), "full") {
		t.Errorf("the third one: %v", third.err)
	}
	close(full)
	if x, y := patient.Value(a), patient.Value(b); x.err != nil || y.err != nil || x.winner != markX {
		t.Errorf("%v, %v, %s won", x.err, y.err, x.winner)
	}
}

// A player who cheats is found out by the other.
func TestTheBoardsAreCompared(t *testing.T) {
	good := func(turn, square byte) []byte {
		b := board{}
		_ = b.play(int(square))
		s := b.sum()
		return []byte{turn, square, byte(s >> 24), byte(s >> 16), byte(s >> 8), byte(s)}
	}
	for _, tt := range []struct {
		name    string
		payload []byte
		ok      bool
	}{
		{"a move", good(0, 4), true}, {"the wrong turn", good(1, 4), false}, {"no such square", good(0, 9), false},
		{"another board", append(good(0, 4)[:5], 0xee), false}, {"too short", good(0, 4)[:5], false}, {"nothing", nil, false},
	} {
		p := &player{mark: markO, show: func(board) {}}
		if err := p.take(tt.payload); (err == nil) != tt.ok || err != nil && !errors.Is(err, errApart) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	p := &player{mark: markX, show: func(board) {}}
	if p.take(good(0, 4)) == nil {
		t.Error("the other one moved although it was our turn")
	}
}

// A person plays by typing squares; mistakes are told and asked again.
func TestPlayingByHand(t *testing.T) {
	addr := open(t)
	out, in := io.Pipe()
	text := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(out)
		text <- string(b)
	}()
	other := sit(t, addr, func(b board, _ mark) (int, error) { // the last free square, whoever begins
		square := 8
		for b.squares[square] != nobody {
			square--
		}
		return square, nil
	})
	err := playAt(t.Context(), addr, strings.NewReader("0\nx\n10\n1\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), in)
	in.Close()
	got, end := patient.Value(text), patient.Value(other)
	if err != nil || end.err != nil || !strings.Contains(got, "there is no square 0") || !strings.Contains(got, "you ") {
		t.Errorf("%v, %v:\n%s", err, end.err, got)
	}
}

// Who is left alone is told so, and does not wait for ever.
func TestTheOtherLeaves(t *testing.T) {
	addr := open(t)
	gone := errors.New("had enough")
	first := sit(t, addr, func(board, mark) (int, error) { return 0, gone })
	second := sit(t, addr, func(board, mark) (int, error) { return 0, gone })
	a, b := patient.Value(first), patient.Value(second)
	if !errors.Is(a.err, gone) {
		a, b = b, a
	}
	if !errors.Is(a.err, gone) || !errors.Is(b.err, errLeft) {
		t.Errorf("one ended with %v, the other with %v", a.err, b.err)
	}
}

func TestUsage(t *testing.T) {
	stage.Usage(t, run, "", "play", "serve", "watch 127.0.0.1:1")
	if err := run(t.Context(), []string{"serve", "nonsense"}); err == nil {
		t.Error("a table at no address")
	}
}

func TestBoard(t *testing.T) {
	b := board{}
	for _, square := range []int{4, 0} {
		if err := b.play(square); err != nil {
			t.Fatal(err)
		}
	}
	if b.play(4) == nil || b.play(9) == nil || b.play(-1) == nil || b.over() || b.next() != markX {
		t.Error("the rules are broken")
	}
	if want := " O |   |  \n---+---+---\n   | X |  \n---+---+---\n   |   |  \n"; b.String() != want {
		t.Errorf("got\n%s", &b)
	}
	if fmt.Sprint(markX.other(), markO.other()) != "O X" {
		t.Error("who is who's other?")
	}
}
