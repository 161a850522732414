package gateway

import (
	"testing"

	"parley/play/message"
	"parley/world"
)

// mayfly lives for a few ticks, and is another in each.
type mayfly struct {
	world.Body
	Age int16
}

// mayflies is a game of ten at a time, until time stands still.
func mayflies(still *bool) world.Game {
	return world.Game{Name: "mayflies", Kinds: world.Kinds(mayfly{}), Step: func(w *world.World, in []world.Input) {
		if *still {
			return
		}
		for id, m := range world.All[mayfly](w) {
			if m.Age++; int(m.Age) > 3+w.Random().IntN(5) {
				w.Despawn(id)
			}
		}
		for world.Count[mayfly](w) < 10 {
			world.Spawn(w, mayfly{})
		}
	}}
}

// A copy of the world that nobody looks at is brought up to date once a second, so that it holds few numbers of what is gone, and
// who comes then finds the world as it is.
func TestWhoComesToAnIdleDialectSeesTheWorldAsItIs(t *testing.T) {
	still := false
	h := must(New(Config{Game: mayflies(&still), Sight: -1}))
	r := must(NewReplica(h, ReplicaConfig{Addr: loopback}))
	defer r.Shutdown(t.Context())
	d := must(NewDuplex(h, DuplexConfig{Addr: loopback}))
	defer d.Shutdown(t.Context())
	stageOf[*duplexStage](h, d)
	stale, entities := 0, stageOf[*replicaStage](h, r).entities
	for range 20*h.cfg.TickRate + 7 {
		if err := h.Tick(); err != nil {
			t.Fatal(err)
		}
		for id := range entities {
			if h.main.sim.Wire(id) == 0 {
				stale++
			}
		}
		if h.main.sim.Tick()%uint64(h.cfg.TickRate) == 0 && len(entities) != 10 {
			t.Fatalf("at tick %d the copy has %d entities", h.main.sim.Tick(), len(entities))
		}
	}
	if stale == 0 {
		t.Error("the copy was brought up to date in each tick, for nobody")
	}
	c := playDuplex(t, h, d)
	still = true
	until(t, h, "who comes knows what there is", func() bool {
		n := 0
		for ch := range stageOf[*duplexStage](h, d).mirror.Seen() {
			want := message.AppendElement(nil, &ch)
			if data, ok := c.Element(int16(ch.Entity)); ok && string(data) == string(want) {
				n++
			}
		}
		return n == 10 && n == len(c.Elements())
	})
}
