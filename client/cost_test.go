package client_test

import (
	"math"
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/internal/kit/chance"
	"parley/test/field"
	"parley/world"
)

// walker is one of those that fill the frame.
type walker struct{ world.Body }

const walkers = 200

// parade is a game in which the first player finds 200 others, which walk.
func parade() world.Game {
	return world.Game{
		Name: "parade", Kinds: world.Kinds(walker{}),
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				if in := &inputs[i]; in.Kind == world.Join {
					w.Own(in.Player, world.SpawnFor(w, in, walker{world.Body{X: 20.5, Y: 20.5, Norm: .25}}))
					for n := range walkers {
						world.Spawn(w, walker{world.Body{X: float64(n%20) + .5, Y: float64(n/20) + .5, Angle: float32(n), Norm: .25}})
					}
				}
			}
			w.MoveAll()
		},
	}
}

// A frame with 200 entities that walk, and the own one ahead of them, allocates nothing. What is between two ticks of the server in the same
// process is frames alone, or nearly: of a few runs the best counts.
func TestAFrameAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	config := field.Config()
	config.TickRate = 10
	s := field.Serve(t, parade(), config)
	c, err := client.Dial(t.Context(), url(s, "replica"), parade(), client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var before float64
	until(t, c, "all walk, the own one ahead", func(f *client.Frame) bool {
		n := 0
		for id, b := range client.All[walker](f) {
			if n++; id != f.Own() && n == walkers/2 {
				before = b.X
			}
		}
		return n == walkers+1 && f.Tick > 0 && f.OwnTick > f.Tick
	})
	least, moved := math.Inf(1), false
	for range 50 {
		if least = min(least, testing.AllocsPerRun(100, func() {
			n := 0
			for id, b := range client.All[walker](c.At(time.Now())) {
				if n++; n == walkers/2 && id != 0 {
					moved = moved || b.X != before
				}
			}
			if n != walkers+1 {
				t.Errorf("%d entities are drawn", n)
			}
		})); least == 0 && moved {
			return
		}
	}
	t.Errorf("a frame makes %v allocations; they walk: %v", least, moved)
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
