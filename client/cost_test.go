package client_test

import (
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/internal/kit/chance"
	"parley/test/field"
)

// A frame allocates nothing once all is in sight.
func TestAFrameAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s := field.Serve(t, arena.Game(), field.Config())
	c := join(t, url(s, "stamp"), client.Config{}) // nobody is there: the server sends nothing, so that only frames allocate
	now := time.Now()
	frame := func() {
		now = now.Add(time.Second / 60)
		f := c.At(now)
		for range f.Events() {
			t.Error("something has happened")
		}
	}
	for range 100 {
		frame()
	}
	if n := testing.AllocsPerRun(1000, frame); n > 0 {
		t.Errorf("a frame makes %v allocations", n)
	}
}

// BenchmarkFrame draws frames of a room with so many players, among what a server of the same process does.
func BenchmarkFrame(b *testing.B) {
	s := field.Serve(b, arena.Game(), field.Config())
	c := join(b, url(s, "replica"), client.Config{})
	until(b, c, "it sees itself", func(f *client.Frame) bool { return f.Own() != 0 })
	b.ReportAllocs()
	for b.Loop() {
		c.At(time.Now())
	}
}
