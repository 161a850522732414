package world

import (
	"testing"
	"unsafe"

	"parley/internal/kit/chance"
)

// A tick, with inputs and with all views, allocates nothing once everything has
// its size.
func TestATickAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	for _, late := range []uint64{0, 3} {
		s, players, views := newMovers(t, 300, 20, ViewConfig{BytesPerTick: 1200})
		tick := func() {
			for i, p := range players {
				s.Steer(p, s.Tick()-late, steer(float32(i), 0.5), 0)
			}
			s.Advance()
			for _, v := range views {
				drain(v)
			}
		}
		for range 400 {
			tick()
		}
		if n := testing.AllocsPerRun(200, tick); n != 0 {
			t.Errorf("%v allocations a tick, inputs %d ticks late", n, late)
		}
	}
}

func TestASnapshotAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s, _, _ := newMovers(t, 1000, 0, ViewConfig{})
	var snap snapshot
	both := func() {
		s.world.SetCell(1, 1, uint8(s.world.Random().IntN(2)))
		s.world.save(&snap)
		s.world.load(&snap)
		s.world.Hash()
	}
	both()
	if n := testing.AllocsPerRun(100, both); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What a view looks at of each entity, and what it keeps of it.
func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("pointers of another size")
	}
	if got := unsafe.Sizeof(slot{}); got != 128 {
		t.Errorf("a slot has %d bytes", got)
	}
	if got := unsafe.Offsetof(slot{}.id); got != 64 {
		t.Errorf("the second half of a slot begins at %d", got)
	}
	if got := unsafe.Sizeof(entry{}); got != 32 {
		t.Errorf("an entry has %d bytes", got)
	}
	if got := unsafe.Sizeof(Input{}); got > 128 {
		t.Errorf("an input has %d bytes", got)
	}
}

// Typed access from a game allocates nothing either.
func TestAccessAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	w := newSim(t, Config{}).World()
	in := Input{Kind: Act, Player: 1, Action: w.Schema().ActionNamed("sow")}
	n := testing.AllocsPerRun(100, func() {
		id := Spawn(w, sprout{Body: Body{X: 1, Sprite: 2}})
		for _, s := range All[sprout](w) {
			for range w.Touching(&s.Body) {
				s.Age++
			}
		}
		v, _ := Read[sow](&in)
		Done(w, &in, v)
		w.Despawn(id)
		w.Reindex()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
