package world

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"parley/internal/promise"
)

// Entities come into sight and leave it in any order: entries against a map, and each at its place
// until it leaves, as packets that are on their way name it by that.
func TestEntriesAgainstAMap(t *testing.T) {
	r := newRand(t)
	var es entries
	model := map[uint32]sighted{}
	var list []sighted
	for n := range uint32(rounds(200_000, 2_000_000)) {
		slot := uint32(r.IntN(300))
		if r.IntN(2) == 0 {
			slot = slot<<16 | 0xffff
		}
		if x, ok := model[slot]; ok && r.IntN(2) == 0 {
			es.free(x)
			es.list = slices.DeleteFunc(es.list, func(y sighted) bool { return y == x })
			list = slices.DeleteFunc(list, func(y sighted) bool { return y == x })
			delete(model, slot)
			if es.has(slot) || es.all[x.at] != (entry{}) {
				t.Fatalf("slot %d has left and is there", slot)
			}
		} else if !ok {
			x := sighted{slot, es.add(slot, entry{stamp: slot + 1, born: n})}
			model[slot] = x
			list = append(list, x)
		}
		at, ok := es.of(slot)
		x, there := model[slot]
		if ok != there || es.has(slot) != there || ok && (at != x.at || es.all[at].stamp != slot+1) {
			t.Fatalf("slot %d: at %d %v, want %d %v", slot, at, ok, x.at, there)
		}
		if len(es.all)-len(es.spare) != len(model) {
			t.Fatalf("%d entries, of which %d are free, for %d in sight", len(es.all), len(es.spare), len(model))
		}
	}
	if !slices.Equal(es.list, list) {
		t.Error("not in the order in which they came")
	}
	for slot, x := range model {
		if at, ok := es.of(slot); !ok || at != x.at || es.all[at].stamp != slot+1 {
			t.Fatalf("slot %d: at %d %v, want %d", slot, at, ok, x.at)
		}
	}
}

// heldBytes is what a value has allocated: the rings, lists and tables in it. It does not go
// through pointers, which a view has to what it shares with others only.
func heldBytes(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += heldBytes(v.Field(i))
		}
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
	}
	return n
}

// T56: 2,000 players in one world, each in sight of itself: what a view holds grows with what
// it sees and what is on its way, and not with the world.
func TestAViewHoldsWhatItSees(t *testing.T) {
	notRaced(t)
	promise.Keeps(t, "T56", "world", 1)
	held := func(players int, c ViewConfig) (bytes, seen int) {
		s, ids, views := newHolders(t, players, c)
		views = views[:10]
		for tick := range 60 {
			for _, p := range ids {
				s.Steer(p, s.Tick(), steer(float32(tick%6), 0), 0)
			}
			s.Advance()
			for _, v := range views {
				tellHeld(v)
			}
		}
		for _, v := range views {
			bytes = max(bytes, heldBytes(reflect.ValueOf(*v)))
			seen = max(seen, len(v.entries.list))
		}
		return bytes, seen
	}
	for _, tt := range []struct {
		name string
		c    ViewConfig
	}{
		{"packets that are lost after a second", ViewConfig{Radius: 16}},
		{"a stream", ViewConfig{Radius: 16, Reliable: true}},
	} {
		few, seen := held(10, tt.c)
		many, seenOfMany := held(1000, tt.c)
		if few != many || seen != 1 || seenOfMany != 1 {
			t.Errorf("%s: %d bytes in a world of 10, %d in one of 1,000; %d and %d in sight", tt.name, few, many, seen, seenOfMany)
		}
		if few > 1536 {
			t.Errorf("%s: %d bytes for one in sight", tt.name, few)
		}
	}
	// Everything in sight: as it grows, so do they.
	const perEntity = 180
	if bytes, seen := held(300, ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true}); seen != 300 || bytes > 300*perEntity {
		t.Errorf("%d bytes for %d in sight", bytes, seen)
	}
}

// Packets end in any order, and the rings go round, and their numbers too.
func TestFlightAgainstAModel(t *testing.T) {
	r := newRand(t)
	for range rounds(30, 300) {
		most := 1 + r.IntN(150) // records in a packet
		v := &View{}
		for range 1 << 16 {
			v.entries.all = append(v.entries.all, entry{stamp: 1})
		}
		f := &v.flight
		f.added = math.MaxUint32 - uint32(r.IntN(3000))
		f.needed, f.first = f.added, f.added
		var packets [][]uint32           // by number: the entries in it
		fate := map[uint32]bool{}        // of those that ended: whether they arrived
		ended, oldest := []bool{true}, 0 // of the packets
		end := func(n int, arrived bool) {
			if n < 0 || ended[n] {
				return
			}
			for _, at := range packets[n] {
				fate[at] = arrived
			}
			ended[n] = true
			for oldest < len(ended) && ended[oldest] {
				oldest++
			}
		}
		packets = append(packets, nil) // there is no packet 0
		first := []uint32{0}
		next := uint32(0)
		for last := 1; next < 60_000 && last < 3000; last++ {
			end(last-maxPackets, false) // too many packets
			if n := v.Open(); n != uint64(last) {
				t.Fatalf("packet %d, want %d", n, last)
			}
			packets, ended, first = append(packets, nil), append(ended, false), append(first, next)
			for range r.IntN(most + 1) {
				for oldest < last && next-first[oldest] >= maxSent {
					end(oldest, false) // too many records
				}
				f.add(v, sent{at: next, serial: 1, mask: 1})
				packets[last] = append(packets[last], next)
				next++
			}
			for range r.IntN(3) {
				n, arrived := last-r.IntN(300), r.IntN(2) == 0
				f.end(v, uint64(max(n, 0)), arrived)
				end(n, arrived)
			}
		}
		for at := range next {
			arrived, ended := fate[at]
			e := &v.entries.all[at]
			if e.known != (ended && arrived) || (e.lost != 0) != (ended && !arrived) {
				t.Fatalf("record %d of %d: %+v, want ended %v, arrived %v", at, next, *e, ended, arrived)
			}
		}
		if len(f.packets) > maxPackets || len(f.records) > maxSent {
			t.Errorf("rings of %d packets and %d records", len(f.packets), len(f.records))
		}
	}
}
