package client_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/play/line"
	"parley/test/field"
)

func TestMain(m *testing.M) {
	patient.Abreast("25") // tests that come back wait most of the time
	goleak.VerifyTestMain(m)
}

// urls are the dialects over which players play.
func url(s *field.Server, dialect string) string { return dialect + "://" + s.At[dialect] }

// join dials a server of the arena, and leaves with the test.
func join(t testing.TB, urls string, c client.Config) *client.Client {
	t.Helper()
	x, err := client.Dial(t.Context(), urls, arena.Game(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// until draws frames until one is as it should be.
func until(t testing.TB, c *client.Client, what string, holds func(f *client.Frame) bool) {
	t.Helper()
	defer patient.End().Stop()
	for f := range c.Frames(200) {
		if holds(f) {
			return
		}
	}
	t.Fatalf("%s: the game has ended: %v", what, c.Err())
}

// Over each dialect a player sees itself, walks, is told what it says and does, and leaves.
func TestAPlayerOverEachDialect(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			c := join(t, url(s, dialect), client.Config{Name: dialect + "-ann", Password: "correct horse", Plain: true})
			var x, y float64
			until(t, c, "it sees itself", func(f *client.Frame) bool {
				me, ok := client.Own[arena.Player](f)
				if ok {
					x, y = me.X, me.Y
				}
				return ok
			})
			begin := time.Now()
			walked := false
			for angle := float32(0); !walked && angle < 6; angle++ { // there may be a wall
				if err := c.Steer(angle, 1); err != nil {
					t.Fatal(err)
				}
				end := time.Now().Add(2 * time.Second)
				until(t, c, "it walks", func(f *client.Frame) bool {
					me, ok := client.Own[arena.Player](f)
					walked = ok && (me.X-x)*(me.X-x)+(me.Y-y)*(me.Y-y) > 4
					return walked || time.Now().After(end)
				})
			}
			t.Logf("it walks after %v", time.Since(begin))
			if err := c.Say("hello"); err != nil {
				t.Fatal(err)
			}
			if err := client.Act(c, arena.Throw{Angle: 1}); err != nil {
				t.Fatal(err)
			}
			var said, acted bool
			until(t, c, "it reads what it said and sees what it did", func(f *client.Frame) bool {
				for ev := range f.Events() {
					said = said || ev.Kind == client.Said && ev.Text == "hello"
					throw, ok := client.As[arena.Throw](ev)
					acted = acted || ok && throw.Angle == 1 && ev.Own
				}
				return said && acted
			})
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			for f := range c.Frames(60) {
				_ = f
			}
			if c.Err() != nil || c.Say("gone") == nil {
				t.Errorf("a player who has left: %v", c.Err())
			}
		})
	}
}

// Over stamp a player watches.
func TestASpectator(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	walker := join(t, url(s, "replica"), client.Config{})
	until(t, walker, "it is there", func(f *client.Frame) bool { return f.Own() != 0 })
	c := join(t, url(s, "stamp"), client.Config{})
	until(t, c, "it sees a player", func(f *client.Frame) bool {
		for range client.All[arena.Player](f) {
			return true
		}
		return false
	})
	if c.Steer(0, 1) != client.ErrSpectator || c.Say("x") != client.ErrSpectator || client.Act(c, arena.Throw{}) != client.ErrSpectator {
		t.Error("a spectator did something")
	}
}

// Nobody answers: Dial says so in two seconds, and names the address.
func TestNoServer(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	for _, dialect := range line.Dialects {
		for _, addr := range []string{silent.LocalAddr().String(), nobody} {
			t.Run(dialect+"/"+addr, func(t *testing.T) {
				t.Parallel()
				took := patient.Pace(t)
				_, err := client.Dial(t.Context(), dialect+"://"+addr, arena.Game(), client.Config{Name: "ann", Password: "correct horse"})
				if !errors.Is(err, client.ErrNoServer) || !strings.Contains(err.Error(), dialect+"://"+addr) {
					t.Errorf("%v", err)
				}
				if d := took(); d > 4*time.Second { // the dialects' own patience is 10 s
					t.Errorf("after %v: %v", d, err)
				}
			})
		}
	}
}

// A player who is kicked reads why, over each dialect, and does not come back.
func TestAKickedPlayerIsToldWhy(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			c := join(t, url(s, dialect), client.Config{Name: dialect + "-bob", Password: "correct horse", Plain: true})
			until(t, c, "it is in", func(f *client.Frame) bool { return f.Own() != 0 })
			list, err := s.Players()
			if err != nil || len(list) != 1 {
				t.Fatalf("%v: %v", list, err)
			}
			if err := s.Kick("main", list[0].ID, "no shouting"); err != nil {
				t.Fatal(err)
			}
			told := ""
			for f := range c.Frames(100) {
				for ev := range f.Events() {
					if ev.Kind == client.Ended {
						told = ev.Text
					}
				}
			}
			if told != "no shouting" || c.Err() == nil || !strings.Contains(c.Err().Error(), "no shouting") {
				t.Errorf("it is told %q: %v", told, c.Err())
			}
		})
	}
}
