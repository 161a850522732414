package world

import (
	"testing"

	"parley/internal/promise"
)

// T52: "exhaust 16-bit ids, free, reuse 10^6 times: no alias visible to any
// client; reserved range never issued".
func TestNumbersAreNotConfused(t *testing.T) {
	r := newRand(t)
	var b book
	b.init(50)
	// What a client believes a number to be, until it has confirmed that it is
	// gone and everything on its way has arrived.
	believed := map[uint16]ID{}
	ids := map[uint16]ID{} // whose it was last
	until := map[uint16]uint64{}
	held := map[uint16]bool{}
	var holds []uint16
	var living []uint16
	next := ID(0)
	given, refused := 0, 0
	want := promise.Keeps(t, "T52", "world", max(100_000, rounds(1_000_000, 10_000_000)))
	for given < want {
		b.now++
		// Some are born; more than there are numbers for, now and then.
		for range r.IntN(2500) {
			next++
			wire := b.give(next, 0)
			if wire == 0 {
				refused++
				break
			}
			given++
			if wire > MaxEntity {
				t.Fatalf("number %d is reserved", wire)
			}
			if id, ok := believed[wire]; ok && b.now < until[wire] {
				t.Fatalf("number %d is %v to a client, and %v now", wire, id, next)
			}
			if held[wire] {
				t.Fatalf("number %d is held, and %v now", wire, next)
			}
			if was := ids[wire]; was != 0 && b.known(was) != 0 {
				t.Fatalf("%v is gone, and still known as %d", was, b.known(was))
			}
			living = append(living, wire)
			delete(until, wire)
			ids[wire] = next
			if r.IntN(3) == 0 { // no client is told; the gateway may know
				delete(believed, wire)
				if r.IntN(10) == 0 {
					b.hold(wire, false)
					held[wire] = true
					holds = append(holds, wire)
				}
				continue
			}
			believed[wire] = next
			if b.tell(next) != wire {
				t.Fatalf("%v has another number than %d", next, wire)
			}
			if r.IntN(10) == 0 {
				b.hold(wire, true)
				held[wire] = true
				holds = append(holds, wire)
			}
		}
		// Some die, some come back in a replay, some are let go.
		for range r.IntN(2600) {
			if len(living) == 0 {
				break
			}
			i := r.IntN(len(living))
			wire := living[i]
			b.lose(wire)
			if r.IntN(20) == 0 {
				if got := b.give(ids[wire], 0); got != wire {
					t.Fatalf("%v was %d and came back as %d", ids[wire], wire, got)
				}
				continue
			}
			living[i] = living[len(living)-1]
			living = living[:len(living)-1]
			until[wire] = b.now + 50
		}
		for range len(holds) / 20 {
			i := r.IntN(len(holds))
			wire := holds[i]
			holds[i] = holds[len(holds)-1]
			holds = holds[:len(holds)-1]
			b.letGo(wire)
			delete(held, wire)
			if until[wire] != 0 {
				until[wire] = b.now + 50
			}
		}
	}
	if refused == 0 || len(b.pages) != MaxEntity+1 {
		t.Errorf("%d refused, %d numbers: not exhausted", refused, len(b.pages)-1)
	}
	t.Logf("%d numbers given, %d times there was none", given, refused)
}

// 15.2: numbers that no client was told do not run out, however many entities come and go; and those that were told do
// not come back sooner for it.
func TestUntoldNumbersDoNotRunOut(t *testing.T) {
	notRaced(t)
	var b book
	b.init(1200)
	told := b.give(1, 0)
	b.tell(1)
	b.now++
	b.lose(told)
	for i := range 20 * MaxEntity {
		if i%1000 == 0 {
			b.now++
		}
		id := ID(2 + i)
		wire := b.give(id, 0)
		if wire == 0 {
			t.Fatalf("entity %d has none", i)
		}
		if wire == told && b.now < 1200 {
			t.Fatalf("number %d was told, and is another's after %d ticks", told, b.now)
		}
		b.lose(wire)
	}
	t.Logf("%d entities in %d ticks", 20*MaxEntity, b.now)
}

// An entity that came back as another kind is another one to clients.
func TestAnotherKindIsAnotherNumber(t *testing.T) {
	var b book
	b.init(10)
	first := b.give(5, 0)
	b.lose(first)
	if b.known(5) != 0 {
		t.Error("the dead are known")
	}
	if again := b.give(5, 0); again != first || b.known(5) != first {
		t.Errorf("%d", again)
	}
	other := b.give(5, 1)
	if other == first || b.known(5) != other || b.pages[first].alive {
		t.Errorf("%d and %d", first, other)
	}
}

// When all numbers are in use an entity waits for one, and no one sees it.
func TestAnEntityWaitsForANumber(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0})
	for len(s.book.pages) <= MaxEntity {
		s.book.give(ID(1<<50+len(s.book.pages)), 0)
	}
	v := s.NewView(0, ViewConfig{Reliable: true})
	takeAll(v)
	late := Spawn(s.World(), sprout{Body: Body{X: 2}})
	s.Advance()
	wantTold(t, "no number", takeAll(v))
	if s.Wire(late) != 0 || s.Stats().Unnumbered == 0 {
		t.Fatal("it has a number")
	}
	s.World().Despawn(ids[0])
	s.Advance()
	wantTold(t, "gone", takeAll(v), "left 1")
	for range s.config.ReuseTicks - 1 {
		s.Advance()
	}
	wantTold(t, "not yet", takeAll(v))
	for range 3 {
		s.Advance()
	}
	wantTold(t, "in the end", takeAll(v), "entered 1")
}
