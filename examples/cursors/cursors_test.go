package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"parley/internal/patient"
)

// open runs a board and returns its address, and how to close it.
func open(t *testing.T) (addr string, closeBoard func() error) {
	t.Helper()
	defer patient.End().Stop()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, "127.0.0.1:0", in) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	end := func() error {
		cancel()
		err := patient.Value(done)
		done <- err
		return err
	}
	t.Cleanup(func() { end() })
	return strings.Fields(line)[4], end
}

// guest is someone at the board.
type guest struct {
	t     *testing.T
	moves *io.PipeWriter
	sees  chan string
	done  chan error
}

func come(t *testing.T, addr, name string) *guest {
	in, moves := io.Pipe()
	screen, out := io.Pipe()
	g := &guest{t, moves, make(chan string, 1000), make(chan error, 1)}
	go func() {
		for lines := bufio.NewScanner(screen); lines.Scan(); {
			g.sees <- lines.Text()
		}
		close(g.sees)
	}()
	go func() {
		g.done <- join(t.Context(), addr, name, in, out)
		out.Close()
		in.Close()
	}()
	return g
}

func (g *guest) move(x, y int) {
	g.t.Helper()
	defer patient.End().Stop()
	if _, err := fmt.Fprintln(g.moves, x, y); err != nil {
		g.t.Fatal(err)
	}
}

// until reads lines until one is as wanted. Places between may be skipped: the newest
// counts.
func (g *guest) until(want string) {
	g.t.Helper()
	defer patient.End().Stop()
	var saw []string
	for line := range g.sees {
		if line == want {
			return
		}
		saw = append(saw, line)
	}
	g.t.Fatalf("%q did not come, but %q", want, saw)
}

func TestCursorsAreSeenByAll(t *testing.T) {
	addr, closeBoard := open(t)
	ada := come(t, addr, "Ada")
	ada.until("Ada is at 0 0")
	bob := come(t, addr, "Bob")
	bob.until("Bob is at 0 0")
	ada.until("Bob is at 0 0")
	for i := 1; i <= 50; i++ {
		ada.move(i, 2*i)
	}
	bob.until("Ada is at 50 100")
	ada.until("Ada is at 50 100")
	bob.move(65535, 0)
	ada.until("Bob is at 65535 0")

	bob.moves.Close()
	if err := patient.Value(bob.done); err != nil {
		t.Errorf("Bob left with %v", err)
	}
	ada.until("Bob has left")
	if err := closeBoard(); err != nil {
		t.Errorf("the board closed with %v", err)
	}
	if err := patient.Value(ada.done); err == nil || !strings.Contains(err.Error(), "peer left") {
		t.Errorf("Ada was told %v", err)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	addr, _ := open(t)
	ada := come(t, addr, "Ada")
	ada.until("Ada is at 0 0")
	for name, want := range map[string]string{"Ada": "taken", " \t": "taken", strings.Repeat("x", 21): "longer"} {
		if err := patient.Value(come(t, addr, name).done); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q came with %v", name, err)
		}
	}
	ada.moves.Close()
	if err := patient.Value(ada.done); err != nil {
		t.Error(err)
	}
}

func TestWhatStrangersSendIsFitToBeShown(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"}, {"  spaces\n", "spaces"}, {"a\x00b\x1bc", "a b c"}, {"\xffé", "?é"}, {"1234567890123456789é", "1234567890123456789"}, {"", ""},
	} {
		if got := clean([]byte(tt.in)); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"join"}, {"join", "127.0.0.1:7000"}, {"leave"}} {
		if err := run(t.Context(), args); err == nil || !strings.HasPrefix(err.Error(), "usage: ") {
			t.Errorf("cursors %v: %v", args, err)
		}
	}
}
