package main

import (
	"context"
	"fmt"
	"io"
	"testing"

	"parley/test/stage"
)

// open runs a room and returns its address, and how to close it.
func open(t *testing.T) (addr string, closeRoom func() error) {
	words, end := stage.Serve(t, func(ctx context.Context, out io.Writer) error { return serve(ctx, "127.0.0.1:0", out) })
	return words[5], end
}

func enter(t *testing.T, addr, name string) *stage.Person {
	return stage.Sit(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return join(ctx, addr, name, in, out) })
}

func TestTwoPeopleTalk(t *testing.T) {
	addr, closeRoom := open(t)
	ada := enter(t, addr, "Ada")
	ada.Sees("* Ada has come")
	bob := enter(t, addr, "Bob")
	bob.Sees("* Bob has come")
	ada.Sees("* Bob has come")
	ada.Type("hello")
	bob.Sees("Ada: hello")
	ada.Sees("Ada: hello")
	for i := range 200 {
		bob.Type("line", i)
		ada.Sees(fmt.Sprint("Bob: line ", i))
		bob.Sees(fmt.Sprint("Bob: line ", i))
	}
	ada.Type("\x1b[31mred\x07")
	bob.Sees("Ada: [31mred")
	ada.Sees("Ada: [31mred")

	bob.Leaves()
	ada.Sees("* Bob has left")
	if err := closeRoom(); err != nil {
		t.Errorf("the room closed with %v", err)
	}
	ada.IsTold("server closing")
}

func TestNamesAreTakenOnce(t *testing.T) {
	addr, _ := open(t)
	ada := enter(t, addr, "Ada")
	ada.Sees("* Ada has come")
	for name, want := range map[string]string{"Ada": "that name is taken", " \t": "a name is needed"} {
		enter(t, addr, name).IsTold(want)
	}
	ada.Leaves()
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
	stage.Usage(t, run, "", "join", "join 127.0.0.1:7000", "leave")
}
