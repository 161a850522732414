package client_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/test/field"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	for _, dialect := range []string{"replica", "relay"} {
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
