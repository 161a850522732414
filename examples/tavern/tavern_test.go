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

// open runs a tavern and returns where it is and its fingerprint, and how to close it.
func open(t *testing.T) (at guest, closeTavern func() error) {
	t.Helper()
	defer patient.End().Stop()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, "127.0.0.1:0", t.TempDir(), in) }()
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
	words := strings.Fields(line)
	return guest{addr: words[5], print: words[6]}, end
}

// visitor is someone in the tavern.
type visitor struct {
	t    *testing.T
	says *io.PipeWriter
	sees *bufio.Scanner
	done chan error
}

func enter(t *testing.T, g guest) *visitor {
	in, says := io.Pipe()
	sees, out := io.Pipe()
	v := &visitor{t, says, bufio.NewScanner(sees), make(chan error, 1)}
	go func() {
		v.done <- join(t.Context(), g, in, out)
		out.Close()
		in.Close()
	}()
	return v
}

func (v *visitor) say(line string) {
	v.t.Helper()
	defer patient.End().Stop()
	if _, err := fmt.Fprintln(v.says, line); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) want(lines ...string) {
	v.t.Helper()
	defer patient.End().Stop()
	for _, want := range lines {
		if !v.sees.Scan() || v.sees.Text() != want {
			v.t.Fatalf("got %q, want %q", v.sees.Text(), want)
		}
	}
}

func (at guest) as(name, password string) guest {
	at.name, at.password = name, password
	return at
}

func TestTwoPeopleRegisterLogInAndTalk(t *testing.T) {
	at, closeTavern := open(t)
	ada, bob := at.as("Ada", "analytical"), at.as("Bob", "hunter2hunter2")
	for _, g := range []guest{ada, bob} {
		var said strings.Builder
		if err := register(t.Context(), g, &said); err != nil || said.String() != "welcome, "+g.name+"\n" {
			t.Fatal(said.String(), err)
		}
	}
	a := enter(t, ada)
	a.want("* Ada is here")
	b := enter(t, bob)
	b.want("* Ada is here", "* Bob is here")
	a.want("* Bob is here")
	a.say("hello")
	b.want("Ada: hello")
	a.want("Ada: hello")
	b.say("\x1b[31mred\x07")
	a.want("Bob:  [31mred ")
	b.want("Bob:  [31mred ")

	b.says.Close()
	if err := patient.Value(b.done); err != nil {
		t.Errorf("Bob left with %v", err)
	}
	a.want("* Bob has left")
	b = enter(t, bob) // and comes back
	b.want("* Ada is here", "* Bob is here")
	a.want("* Bob is here")
	if err := closeTavern(); err != nil {
		t.Errorf("the tavern closed with %v", err)
	}
	for _, v := range []*visitor{a, b} {
		if err := patient.Value(v.done); err == nil || !strings.Contains(err.Error(), "server_closed") {
			t.Errorf("a guest was told %v", err)
		}
	}
}

func TestWhoIsNotLetIn(t *testing.T) {
	at, _ := open(t)
	if err := register(t.Context(), at.as("ada", "analytical"), io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"a name that is taken", register(t.Context(), at.as("ADA", "analytical"), io.Discard), "used_pseudo: the name is taken, choose another"},
		{"a name that is none", register(t.Context(), at.as("a b", "analytical"), io.Discard), "invalid_pseudo: a name has 3 to 32 letters"},
		{"a password that is none", register(t.Context(), at.as("bob", "short"), io.Discard), "invalid_password: a password has 8 to 128 bytes"},
		{"an unknown name", join(t.Context(), at.as("bob", "analytical"), nil, io.Discard), "unknown_pseudo"},
		{"a wrong password", join(t.Context(), at.as("ada", "synthetical"), nil, io.Discard), "wrong_password"},
		{"another tavern", join(t.Context(), guest{at.addr, strings.Repeat("0", 64), "ada", "analytical"}, nil, io.Discard), "not the pinned one"},
		{"no command", run(t.Context(), nil), "usage"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, tt.err, tt.want)
		}
	}
	a := enter(t, at.as("ada", "analytical"))
	a.want("* ada is here")
	if err := join(t.Context(), at.as("Ada", "analytical"), nil, io.Discard); err == nil || !strings.Contains(err.Error(), "already_connected") {
		t.Error(err)
	}
}
