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

// open runs a room and returns its address, and how to close it.
func open(t *testing.T) (addr string, closeRoom func() error) {
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
	return strings.Fields(line)[5], end
}

// guest is someone in the room.
type guest struct {
	t    *testing.T
	says *io.PipeWriter
	sees *bufio.Scanner
	done chan error
}

func enter(t *testing.T, addr, name string) *guest {
	in, says := io.Pipe()
	sees, out := io.Pipe()
	g := &guest{t, says, bufio.NewScanner(sees), make(chan error, 1)}
	go func() {
		g.done <- join(t.Context(), addr, name, in, out)
		out.Close()
		in.Close()
	}()
	return g
}

func (g *guest) say(line string) {
	g.t.Helper()
	defer patient.End().Stop()
	if _, err := fmt.Fprintln(g.says, line); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guest) want(lines ...string) {
	g.t.Helper()
	defer patient.End().Stop()
	for _, want := range lines {
		if !g.sees.Scan() || g.sees.Text() != want {
			g.t.Fatalf("got %q, want %q", g.sees.Text(), want)
		}
	}
}

func TestTwoPeopleTalk(t *testing.T) {
	addr, closeRoom := open(t)
	ada := enter(t, addr, "Ada")
	ada.want("* Ada has come")
	bob := enter(t, addr, "Bob")
	bob.want("* Bob has come")
	ada.want("* Bob has come")
	ada.say("hello")
	bob.want("Ada: hello")
	ada.want("Ada: hello")
	for i := range 200 {
		bob.say(fmt.Sprint("line ", i))
		ada.want(fmt.Sprint("Bob: line ", i))
		bob.want(fmt.Sprint("Bob: line ", i))
	}
	ada.say("\x1b[31mred\x07")
	bob.want("Ada: [31mred")
	ada.want("Ada: [31mred")

	bob.says.Close()
	if err := patient.Value(bob.done); err != nil {
		t.Errorf("Bob left with %v", err)
	}
	ada.want("* Bob has left")
	if err := closeRoom(); err != nil {
		t.Errorf("the room closed with %v", err)
	}
	if err := patient.Value(ada.done); err == nil || !strings.Contains(err.Error(), "server closing") {
		t.Errorf("Ada was told %v", err)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	addr, _ := open(t)
	ada := enter(t, addr, "Ada")
	ada.want("* Ada has come")
	for name, want := range map[string]string{"Ada": "that name is taken", " \t": "a name is needed"} {
		if err := patient.Value(enter(t, addr, name).done); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q entered with %v, want %q", name, err, want)
		}
	}
	ada.says.Close()
	if err := patient.Value(ada.done); err != nil {
		t.Error(err)
	}
}

func TestWhatStrangersSendIsFitToBeShown(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"}, {"  spaces\n", "spaces"}, {"a\x00b\x1bc", "a b c"}, {"\xffé", "?é"}, {"1234567é", "1234567"}, {"", ""},
	} {
		if got := clean([]byte(tt.in), 8); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"join"}, {"join", "127.0.0.1:7000"}, {"leave"}} {
		if err := run(t.Context(), args); err == nil || !strings.HasPrefix(err.Error(), "usage: ") {
			t.Errorf("chat %v: %v", args, err)
		}
	}
}
