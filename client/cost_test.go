package client_test

import (
	"testing"
	"time"

	"parley/client"
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

// BenchmarkFrame draws frames of 200 entities that walk and the own one ahead of them, among what a server of the same process does. What
// a frame alone allocates, TestAtAllocatesNothing and play/picture's TestAFrameAllocatesNothing say.
func BenchmarkFrame(b *testing.B) {
	s := field.Serve(b, parade(), field.Config())
	c, err := client.Dial(b.Context(), url(s, "replica"), parade(), client.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	until(b, c, "all walk, the own one ahead", func(f *client.Frame) bool {
		n := 0
		for range client.All[walker](f) {
			n++
		}
		return n == walkers+1 && f.Tick > 0 && f.OwnTick > f.Tick
	})
	b.ReportAllocs()
	for b.Loop() {
		c.At(time.Now())
	}
}
