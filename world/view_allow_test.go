package world

import (
	"fmt"
	"testing"
)

// crowd is a world of a player and of sprouts in a row, the furthest last, and a view of it.
func crowd(t *testing.T, sprouts int, c ViewConfig) (s *Sim, v *View, own ID, ids []ID) {
	t.Helper()
	var places [][2]float64
	for i := range sprouts {
		places = append(places, [2]float64{float64(1 + i), 0})
	}
	s, ids = standing(t, places...)
	p := join(t, s, "a")
	s.Advance()
	own, _ = avatar(t, s, p)
	return s, s.NewView(p, c), own, ids
}

// stir changes every entity and advances.
func stir(s *Sim, own ID, ids []ID) {
	for _, id := range ids {
		if x := Get[sprout](s.World(), id); x != nil {
			x.Age++
		}
	}
	Get[walker](s.World(), own).Health++
	s.Advance()
}

// toldWithin takes what a view tells within the bytes that it is allowed, each change 10 bytes long.
func toldWithin(v *View, bytes int) (ids []ID) {
	v.Update()
	v.Allow(bytes)
	for c := v.Next(); c != nil; c = v.Next() {
		ids = append(ids, c.ID)
		v.Take(10)
	}
	return ids
}

// With nothing allowed a player is told of its own entity, in every tick, and of nothing else: not of what it
// owns besides, nor of what has left. The rest comes when it may, at its newest.
func TestAPlayersOwnEntityNeedsNoAllowance(t *testing.T) {
	s, v, own, ids := crowd(t, 20, ViewConfig{Reliable: true})
	w := s.World()
	unit := spawn(w, makeID(w.tick, v.Player(), 1<<11|1), v.Player(), sprout{Body: Body{X: 2}})
	ids = append(ids, unit)
	stir(s, own, ids)
	if got := toldWithin(v, 1<<20); len(got) != 22 {
		t.Fatalf("told of %d at first, want 22", len(got))
	}
	for tick := range 50 {
		if tick == 10 {
			w.Despawn(ids[3])
		}
		stir(s, own, ids)
		if got := toldWithin(v, 0); len(got) != 1 || got[0] != own {
			t.Fatalf("tick %d: told of %v, want %v alone", tick, got, own)
		}
	}
	stir(s, own, ids)
	if got := toldWithin(v, 15); len(got) != 3 || got[1] != unit || got[2] != own {
		t.Errorf("told of %v: want what has left, what it owns and waited, and its own", got)
	}
	stir(s, own, ids)
	v.Update()
	v.Allow(1 << 20)
	ages := map[ID]uint64{}
	for c := v.Next(); c != nil; c = v.Next() {
		if c.ID != own {
			ages[c.ID] = c.Value(5).Uint()
		}
		v.Take(10)
	}
	if len(ages) != 20 || ages[ids[19]] != 53 {
		t.Errorf("told of %d, of the last at age %d: want 20 at their newest, 53", len(ages), ages[ids[19]])
	}
}

// A large allowance is none: what is told, and in which order, is what a view tells that nobody allows anything.
func TestALargeAllowanceChangesNothing(t *testing.T) {
	r := newRand(t)
	for _, bytes := range []int{-1, 0, 100, 300} {
		s, v, own, ids := crowd(t, 60, ViewConfig{BytesPerTick: bytes, Reliable: true})
		free := s.NewView(v.Player(), ViewConfig{BytesPerTick: bytes, Reliable: true})
		for tick := range 300 {
			var some []ID
			for _, id := range ids {
				if r.IntN(3) == 0 {
					some = append(some, id)
				}
			}
			if tick%20 == 19 {
				s.World().Despawn(some[0])
			}
			stir(s, own, some)
			var want []ID
			free.Update()
			for c := free.Next(); c != nil; c = free.Next() {
				want = append(want, c.ID)
				free.Take(10)
			}
			if got := toldWithin(v, 1<<31-1); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%d bytes a tick, tick %d: %v, want %v", bytes, tick, got, want)
			}
		}
	}
}

// Nothing starves on a narrow path: with bytes for the player's own entity and two others a tick, all of 60 are told in turn,
// the nearest most often. With an allowance that not even its own entity fits in, they still are.
func TestNothingStarvesWithinAnAllowance(t *testing.T) {
	notRaced(t)
	for _, tt := range []struct {
		allowed       int
		longest, near int // ticks without a word of one; how often the nearest is told for one word of the furthest
	}{
		{30, 120, 2},
		{1, 3360, 1}, // until the furthest, 20 more urgent a tick, is as urgent as what is its own, and then in turn
	} {
		s, v, own, ids := crowd(t, 60, ViewConfig{Radius: 60, Reliable: true})
		last, count := map[ID]int{}, map[ID]int{}
		ticks := 6 * tt.longest
		for tick := range ticks {
			stir(s, own, ids)
			for _, id := range toldWithin(v, tt.allowed) {
				last[id] = tick
				count[id]++
			}
			for _, id := range ids {
				if tick-last[id] > tt.longest {
					t.Fatalf("allowed %d: %v waits for %d ticks", tt.allowed, id, tick-last[id])
				}
			}
		}
		if count[own] != ticks {
			t.Errorf("allowed %d: its own entity was told %d times in %d ticks", tt.allowed, count[own], ticks)
		}
		if near, far := count[ids[0]], count[ids[59]]; near < tt.near*far {
			t.Errorf("allowed %d: the nearest was told %d times, the furthest %d", tt.allowed, near, far)
		}
	}
}

// What an allowance did not let through is not saved up for the ticks after it.
func TestAnAllowanceIsOfOneTick(t *testing.T) {
	s, v, own, ids := crowd(t, 60, ViewConfig{BytesPerTick: 100, Reliable: true})
	for range 20 {
		stir(s, own, ids)
		if got := toldWithin(v, 40); len(got) != 4 {
			t.Fatalf("told of %d with 40 bytes", len(got))
		}
	}
	stir(s, own, ids)
	if got := toldWithin(v, 1<<20); len(got) > 20 {
		t.Errorf("told of %d: more than two ticks' bytes", len(got))
	}
	s.Advance()
	v.Update()
	v.Allow(-5)
	if c := v.Next(); c != nil && c.ID != own {
		t.Errorf("with less than nothing: %v", c.ID)
	}
}

// A view that has told of comings and goings only tells all that has changed since, when that is turned off, and nothing more
// of it when it is turned on again.
func TestSightOnlyIsTurnedOffAndOn(t *testing.T) {
	s, v, own, ids := crowd(t, 20, ViewConfig{Reliable: true, SightOnly: true})
	stir(s, own, ids)
	if got := toldWithin(v, 1<<20); len(got) != 21 {
		t.Fatalf("told of %d at first, want 21", len(got))
	}
	stir(s, own, ids)
	if got := toldWithin(v, 1<<20); len(got) != 0 {
		t.Fatalf("told of %v, which have only changed", got)
	}
	v.SightOnly(false)
	s.Advance() // nothing has changed since
	if got := toldWithin(v, 50); len(got) != 5 || got[0] != own {
		t.Errorf("told of %v: want its own entity and the four nearest", got)
	}
	s.Advance()
	if got := toldWithin(v, 1<<20); len(got) != 16 {
		t.Errorf("told of %d, want the other 16", len(got))
	}
	v.SightOnly(true)
	stir(s, own, ids)
	if got := toldWithin(v, 1<<20); len(got) != 0 {
		t.Errorf("told of %v, which have only changed", got)
	}
}

// A path that is no longer narrow has the urgency of any other, also if Allow is not called for it.
func TestUrgencyIsAsUsualAfterANarrowTick(t *testing.T) {
	urgency := func(allow bool) uint32 {
		s, v, own, ids := crowd(t, 100, ViewConfig{Reliable: true})
		stir(s, own, ids)
		toldWithin(v, 1<<20)
		if allow {
			stir(s, own, ids)
			toldWithin(v, 100)
		}
		stir(s, own, ids)
		for v.Update(); v.Next() != nil; v.Take(0) {
		}
		stir(s, own, ids)
		v.Update()
		i, _ := s.public.slotOf.get(ids[len(ids)/2])
		at, _ := v.known(uint32(i))
		return v.entries.all[at].urgency
	}
	if got, want := urgency(true), urgency(false); got != want {
		t.Errorf("one in the middle grows more urgent by %d, want %d", got, want)
	}
}
