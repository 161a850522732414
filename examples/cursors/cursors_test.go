package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"parley/test/stage"
)

// open runs a board and returns its address, and how to close it.
func open(t *testing.T) (addr string, closeBoard func() error) {
	words, end := stage.Serve(t, func(ctx context.Context, out io.Writer) error { return serve(ctx, "127.0.0.1:0", out) })
	return words[4], end
}

// come has somebody come to the board. Of the places of the others, the newest counts: those between may be skipped.
func come(t *testing.T, addr, name string) *stage.Person {
	return stage.Sit(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return join(ctx, addr, name, in, out) })
}

func TestCursorsAreSeenByAll(t *testing.T) {
	addr, closeBoard := open(t)
	ada := come(t, addr, "Ada")
	ada.SeesAtLast("Ada is at 0 0")
	bob := come(t, addr, "Bob")
	bob.SeesAtLast("Bob is at 0 0")
	ada.SeesAtLast("Bob is at 0 0")
	for i := 1; i <= 50; i++ {
		ada.Type(i, 2*i)
	}
	bob.SeesAtLast("Ada is at 50 100")
	ada.SeesAtLast("Ada is at 50 100")
	bob.Type(65535, 0)
	ada.SeesAtLast("Bob is at 65535 0")

	bob.Leaves()
	ada.SeesAtLast("Bob has left")
	if err := closeBoard(); err != nil {
		t.Errorf("the board closed with %v", err)
	}
	ada.IsTold("peer left")
}

func TestNamesAreTakenOnce(t *testing.T) {
	addr, _ := open(t)
	ada := come(t, addr, "Ada")
	ada.SeesAtLast("Ada is at 0 0")
	for name, want := range map[string]string{"Ada": "taken", " \t": "taken", strings.Repeat("x", 21): "longer"} {
		come(t, addr, name).IsTold(want)
	}
	ada.Leaves()
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
	stage.Usage(t, run, "", "join", "join 127.0.0.1:7000", "leave")
}
