package line_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/line"
	"parley/test/field"
)

// dial goes over a dialect to the first of several addresses that lets it in.
func dial(t *testing.T, dialect string, addrs ...string) (*line.Line, error) {
	c := line.Config{Game: "arena", Room: "duel", Schema: field.Schema(t, arena.Game()), Read: deaf, Resume: back}
	for _, addr := range addrs {
		c.Ways = append(c.Ways, line.Way{Dialect: dialect, Addr: addr})
	}
	x, err := line.Dial(t.Context(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { x.Close(context.Background()) })
	return x, x.Entered(t.Context())
}

// A server that is full, busy or being emptied is not the last of a list. One that does not take the player's pass is.
func TestTheNextOfAList(t *testing.T) {
	t.Parallel()
	for _, dialect := range boothDialects {
		refusals := []string{"game is full", "the game is busy: come again", "the server is being emptied: connect to another"}
		last := []string{"no such session", "banned", "ticket is not valid"}
		if dialect == "duplex" { // the booth has a status for these
			refusals, last = refusals[:1], last[:1]
		}
		for _, why := range refusals {
			t.Run(dialect+"/"+why, func(t *testing.T) {
				shut, open := newBooth(t), newBooth(t)
				shut.set(func() { shut.refusal = why })
				x, err := dial(t, dialect, shut.at[dialect], shut.at[dialect], open.at[dialect])
				if err != nil || x.Now().Way().Addr != open.at[dialect] || len(shut.passes()) != 2 || open.count() != 1 {
					t.Errorf("%v: %d passes there, %d players here", err, len(shut.passes()), open.count())
				}
			})
		}
		for _, why := range last {
			t.Run(dialect+"/"+why, func(t *testing.T) {
				shut, open := newBooth(t), newBooth(t)
				shut.set(func() { shut.refusal = why })
				if _, err := dial(t, dialect, shut.at[dialect], open.at[dialect]); !errors.Is(err, line.ErrRefused) || open.count() != 0 {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// If no server of a list lets the player in, the error is that of one that has said something.
func TestAListThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel() // it waits for most of its time
			shut := newBooth(t)
			shut.set(func() { shut.refusal = "game is full" })
			full := shut.at[dialect]
			for _, list := range [][]string{{nobody, full}, {full, nobody}, {full, full}} {
				if _, err := dial(t, dialect, list...); !errors.Is(err, line.ErrRefused) || errors.Is(err, line.ErrNoServer) || !strings.Contains(err.Error(), "full") {
					t.Errorf("%v: %v", list, err)
				}
			}
			if _, err := dial(t, dialect, nobody, nobody); !errors.Is(err, line.ErrNoServer) || strings.Count(err.Error(), nobody) < 2 {
				t.Errorf("nobody: %v", err)
			}
			shut.set(func() { shut.refusal = "" })
			if _, err := dial(t, dialect, nobody, full); err != nil {
				t.Error(err)
			}
		})
	}
}

// What answers in another language is not taken for a caller who had no patience: the error says to check the port.
func TestAnotherProtocolAtThePort(t *testing.T) {
	t.Parallel()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			_, from, err := socket.ReadFrom(b)
			if err != nil {
				return
			}
			socket.WriteTo([]byte("what is that?"), from)
		}
	}()
	defer func() { socket.Close(); patient.Value(done) }()
	if _, err := dial(t, "replica", socket.LocalAddr().String()); err == nil || !strings.Contains(err.Error(), "does not speak replica") {
		t.Errorf("%v", err)
	}
}
