package world

import (
	"math"
	"testing"

	"parley/internal/promise"
)

// T51: "10^6 well-formed random actions (ids not owned, huge counts, wrong tick):
// no panic, invariants hold, only own entities change".
func TestAHostilePlayerChangesItsOwnOnly(t *testing.T) {
	r := newRand(t)
	s := newSimOf(t, aimGame(), Config{Seed: 9})
	villain := join(t, s, "villain")
	var victims []ID
	for range 8 {
		p := join(t, s, "victim")
		s.Advance()
		id, _ := avatar(t, s, p)
		victims = append(victims, id)
	}
	// What is late changes chance, and so where one is put on joining: let that be
	// further back than anything can be late.
	advance(s, 30)
	var before []Body
	for _, id := range victims {
		before = append(before, *s.World().Body(id))
	}
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 1.5, 1e-40, math.MaxFloat32, -math.MaxFloat32, math.NaN(), math.Inf(1), math.MaxFloat64, 30}
	number := func() float64 {
		if r.IntN(2) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return r.NormFloat64() * 20
	}
	tick := func() uint64 {
		switch r.IntN(6) {
		case 0:
			return r.Uint64()
		case 1:
			return s.Tick() - r.Uint64N(30)
		}
		return s.Tick() + r.Uint64N(3)
	}
	entity := func() ID {
		switch r.IntN(5) {
		case 0:
			return 0
		case 1:
			return ID(r.Uint64())
		case 2:
			return s.ByWire(uint16(r.Uint32()))
		}
		return victims[r.IntN(len(victims))]
	}
	accepted := 0
	for i := range promise.Keeps(t, "T51", "world", rounds(1_000_000, 10_000_000)) {
		var why Reason
		switch r.IntN(3) {
		case 0:
			st := Steering{
				Entity: entity(), X: number(), Y: number(), Angle: float32(number()), Norm: float32(number()),
				HasPlace: r.IntN(2) == 0, HasAngle: r.IntN(2) == 0, HasNorm: r.IntN(2) == 0,
			}
			why = s.SteerShown(villain, tick(), tick(), st, 0)
		case 1:
			why = s.ActShown(villain, tick(), tick(), s.Schema().Action(0), []Value{FloatValue(F32, number()), UintValue(Entity, r.Uint64()>>r.IntN(64))}, 0)
		case 2:
			a := s.Schema().Actions[r.IntN(3)]
			var params []Value
			for range r.IntN(4) {
				params = append(params, randomValue(r, Type(r.IntN(15))))
			}
			why = s.ActShown(villain, tick(), tick(), a, params, r.Uint32())
		}
		if why == Accepted {
			accepted++
		}
		if i%700 == 0 {
			s.Advance()
			checkWorld(t, s)
			for k, id := range victims {
				if b := s.World().Body(id); b == nil || *b != before[k] {
					t.Fatalf("victim %d was at %+v and is at %+v", k, before[k], b)
				}
			}
		}
	}
	if accepted == 0 || s.Stats().Rewinds == 0 {
		t.Errorf("%d accepted, %+v", accepted, s.Stats())
	}
	t.Logf("%d accepted, %d ticks, %d replayed", accepted, s.Stats().Ticks, s.Stats().TicksReplayed)
}

// checkWorld checks what always holds.
func checkWorld(t testing.TB, s *Sim) {
	t.Helper()
	w := s.World()
	living := 0
	for _, tb := range w.tables {
		n := 0
		for row := tb.next(0); row >= 0; row = tb.next(row + 1) {
			n++
			id := tb.ids[row]
			at, ok := w.where.get(id)
			if id == 0 || !ok || at != uint32(tb.kind.index)<<16|uint32(row) {
				t.Fatalf("row %d of %s has %v, which is elsewhere", row, tb.kind.Name, id)
			}
			for _, f := range tb.kind.floats {
				if f.scrub(tb.at(row)) {
					t.Fatalf("%v: %s is not finite", id, f.Name)
				}
			}
			for _, i := range tb.kind.texts {
				if f := &tb.kind.Fields[i]; fitText(*f.text(tb.at(row)), f.Max) != *f.text(tb.at(row)) {
					t.Fatalf("%v: %s is too long or not UTF-8", id, f.Name)
				}
			}
			if wire := s.Wire(id); wire == 0 || wire > MaxEntity || s.ByWire(wire) != id {
				t.Fatalf("%v has the number %d", id, wire)
			}
			if o := tb.owners[row]; o != 0 {
				if _, ok := w.Player(o); !ok {
					t.Fatalf("%v is of player %d, who is not there", id, o)
				}
			}
		}
		if n != tb.count || n > tb.kind.rows {
			t.Fatalf("%d of %s, %d counted", n, tb.kind.Name, tb.count)
		}
		living += n
	}
	if w.where.n != living {
		t.Fatalf("%d entities, %d known", living, w.where.n)
	}
	alive := 0
	for _, p := range s.book.pages {
		if p.alive {
			alive++
		}
	}
	if alive != living {
		t.Fatalf("%d entities, %d numbers in use", living, alive)
	}
}
