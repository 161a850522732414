package roster

import (
	"math/rand/v2"
	"testing"
)

// The table holds what a map holds, however many fall on one place.
func TestTheTableAgreesWithAMap(t *testing.T) {
	rng := newRand(t)
	for _, secrets := range [][4]uint64{{}, {1, 2, 3, 4}, secretsOf(rng)} {
		tab := newTable[*conn]()
		tab.secrets = secrets // the first: nearly all on one place
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

// secretsOf draws the secrets of a table from a seed, so that a test has the same ones each time.
func secretsOf(rng *rand.Rand) (s [4]uint64) {
	for i := range s {
		s[i] = rng.Uint64() | 1
	}
	return s
}

// furthest returns how far from home the unluckiest is.
func furthest(tab *table[*conn]) (longest int) {
	for i := range tab.places {
		if p := &tab.places[i]; p.conn != nil {
			longest = max(longest, (i-tab.home(&p.key))&(len(tab.places)-1))
		}
	}
	return longest
}

// Addresses as they come spread well with any secrets: of one network, of one host, of one IPv6 network, and all
// over.
func TestAddressesSpread(t *testing.T) {
	rng := newRand(t)
	for _, tt := range []struct {
		name string
		at   func(i int) key
	}{
		{"one network", func(i int) key { return key{0, 0xffff<<32 | 10<<24 | uint64(i>>4), 40_000 + uint64(i&15)} }},
		{"one host", func(i int) key { return key{0, 0xffff<<32 | 10<<24 | 1, 1024 + uint64(i)} }},
		{"one IPv6 network", func(i int) key { return key{0x20010db8 << 32, uint64(i), 4000} }},
		{"many networks", func(i int) key { return key{0x20010db8<<32 | uint64(i)<<8, 1, 4000} }},
		{"one port", func(i int) key { return key{0, 0xffff<<32 | uint64(i)<<12, 7000} }},
	} {
		for range 200 {
			tab := newTable[*conn]()
			tab.secrets = secretsOf(rng)
			for i := range 2048 {
				tab.set(tt.at(i), new(conn))
			}
			if n := furthest(&tab); n > 100 {
				t.Errorf("%s: with the secrets %x one is %d places from home", tt.name, tab.secrets, n)
			}
		}
	}
}

// Addresses that were chosen to fall on one place with one table's secrets spread in another, and no two tables have
// the same.
func TestCraftedAddressesCollideOnlyWhereTheSecretsAreKnown(t *testing.T) {
	rng := newRand(t)
	known, other := newTable[*conn](), newTable[*conn]()
	if known.secrets == other.secrets {
		t.Fatal("two tables have the same secrets")
	}
	known.secrets, other.secrets = secretsOf(rng), secretsOf(rng)
	known.resize(1024)
	for crafted := 0; crafted < 400; {
		k := key{0, rng.Uint64(), rng.Uint64N(1 << 16)}
		if known.home(&k) > 7 {
			continue
		}
		crafted++
		known.set(k, new(conn))
		other.set(k, new(conn))
	}
	if a, b := furthest(&known), furthest(&other); a < 300 || b > 60 {
		t.Errorf("the furthest is %d places from home where the secrets are known, and %d elsewhere", a, b)
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
