package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"parley/test/stage"
)

// open runs a tavern and returns where it is and its fingerprint, and how to close it.
func open(t *testing.T) (at guest, closeTavern func() error) {
	words, end := stage.Serve(t, func(ctx context.Context, out io.Writer) error { return serve(ctx, "127.0.0.1:0", t.TempDir(), out) })
	return guest{addr: words[5], print: words[6]}, end
}

func enter(t *testing.T, g guest) *stage.Person {
	return stage.Sit(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return join(ctx, g, in, out) })
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
	a.Sees("* Ada is here")
	b := enter(t, bob)
	b.Sees("* Ada is here", "* Bob is here")
	a.Sees("* Bob is here")
	a.Type("hello")
	b.Sees("Ada: hello")
	a.Sees("Ada: hello")
	b.Type("\x1b[31mred\x07")
	a.Sees("Bob:  [31mred ")
	b.Sees("Bob:  [31mred ")

	b.Leaves()
	a.Sees("* Bob has left")
	b = enter(t, bob) // and comes back
	b.Sees("* Ada is here", "* Bob is here")
	a.Sees("* Bob is here")
	if err := closeTavern(); err != nil {
		t.Errorf("the tavern closed with %v", err)
	}
	a.IsTold("server_closed")
	b.IsTold("server_closed")
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
	a.Sees("* ada is here")
	if err := join(t.Context(), at.as("Ada", "analytical"), nil, io.Discard); err == nil || !strings.Contains(err.Error(), "already_connected") {
		t.Error(err)
	}
}
