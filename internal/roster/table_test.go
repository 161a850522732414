package roster

import (
	"testing"
)

// The table holds what a map holds, however many fall on one place.
func TestTheTableAgreesWithAMap(t *testing.T) {
	rng := newRand(t)
	for _, secrets := range [][3]uint64{{}, {1 << 60, 1 << 61, 1 << 62}, {rng.Uint64() | 1, rng.Uint64() | 1, rng.Uint64() | 1}} {
		tab := newTable[*conn]()
		tab.secrets = secrets // the first: all on one place
		model := map[key]*conn{}
		for step := range 20_000 {
			k := key{rng.Uint64N(3), rng.Uint64N(5), rng.Uint64N(20)}
			switch {
			case rng.IntN(2000) < 1000+step%1000-500: // comes and goes in waves
				c := new(conn)
				tab.set(k, c)
				model[k] = c
			default:
				tab.unset(k)
				delete(model, k)
			}
			if probe := (key{rng.Uint64N(3), rng.Uint64N(5), rng.Uint64N(20)}); tab.get(probe) != model[probe] || tab.used != len(model) {
				t.Fatalf("step %d: %v finds %p, want %p; %d of %d", step, probe, tab.get(probe), model[probe], tab.used, len(model))
			}
		}
		for k, c := range model {
			if tab.get(k) != c {
				t.Fatalf("%v is lost", k)
			}
			tab.unset(k)
		}
		if tab.used != 0 || len(tab.places) != leastPlaces {
			t.Errorf("an empty table has %d in %d places", tab.used, len(tab.places))
		}
	}
}

// Addresses as they come, all of one network, spread well.
func TestAddressesSpread(t *testing.T) {
	tab := newTable[*conn]()
	for i := range 4096 {
		tab.set(key{0, 0xffff<<32 | 10<<24 | uint64(i>>4), 40_000 + uint64(i&15)}, new(conn))
	}
	longest := 0
	for i := range tab.places {
		if p := &tab.places[i]; p.conn != nil {
			longest = max(longest, (i-tab.home(&p.key))&(len(tab.places)-1))
		}
	}
	if longest > 100 {
		t.Errorf("one is %d places from home", longest)
	}
}

func BenchmarkGet(b *testing.B) {
	r := New[*conn]()
	for i := range 1000 {
		r.Add(addr(i), new(conn))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if r.Get(addr(i%1000)) == nil {
			b.Fatal("lost")
		}
	}
}
