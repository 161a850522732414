package bans

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", 0, "seed of random tests; 0 chooses one")

func newRand(t testing.TB) *rand.Rand {
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("seed=%d", n)
	return rand.New(rand.NewPCG(n, n))
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestATableHoldsThePrefixesThatItWasGiven(t *testing.T) {
	hour := noon.Add(time.Hour)
	table := NewTable([]Entry{
		{netip.MustParsePrefix("192.0.2.7/24"), time.Time{}}, // is masked
		{netip.MustParsePrefix("10.0.0.0/8"), hour},
		{netip.MustParsePrefix("10.1.0.0/16"), time.Time{}},
		{netip.MustParsePrefix("10.1.2.0/24"), noon}, // within a ban that has no end
		{netip.MustParsePrefix("::ffff:198.51.100.9/128"), time.Time{}},
		{netip.MustParsePrefix("2001:db8::/32"), time.Time{}},
		{netip.MustParsePrefix("::/64"), time.Time{}}, // has no address of IPv4
		{netip.MustParsePrefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"), time.Time{}},
		{netip.MustParsePrefix("255.255.255.255/32"), time.Time{}},
		{netip.Prefix{}, time.Time{}},
	})
	for _, tt := range []struct {
		addr string
		at   time.Time
		want bool
	}{
		{"192.0.2.0", noon, true}, {"192.0.2.255", noon, true}, {"192.0.1.255", noon, false}, {"192.0.3.0", noon, false},
		{"::ffff:192.0.2.1", noon, true}, {"10.0.0.0", noon, true}, {"10.255.255.255", noon, true}, {"10.255.255.255", hour, false},
		{"10.1.0.0", hour, true}, {"10.1.2.3", hour, true}, {"10.1.255.255", hour, true}, {"10.2.0.0", hour, false}, {"10.0.255.255", hour, false},
		{"9.255.255.255", noon, false}, {"11.0.0.0", noon, false}, {"198.51.100.9", noon, true}, {"198.51.100.8", noon, false}, {"198.51.100.10", noon, false},
		{"2001:db8:ffff::1", noon, true}, {"2001:db7:ffff::1", noon, false}, {"2001:db9::", noon, false}, {"2001:db8::1%eth0", noon, true},
		{"::1", noon, true}, {"1.2.3.4", noon, false}, {"::ffff:1.2.3.4", noon, false},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", noon, true}, {"255.255.255.255", noon, true}, {"255.255.255.254", noon, false},
	} {
		if got := table.Holds(tt.at, netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%s at %v: banned %v, want %v", tt.addr, tt.at.Format(time.TimeOnly), got, tt.want)
		}
	}
	if table.Holds(noon, netip.Addr{}) {
		t.Error("no address is banned")
	}
}

// TestATableIsAsTheListOfItsPrefixes compares a table with the plain way: look at each prefix in turn.
func TestATableIsAsTheListOfItsPrefixes(t *testing.T) {
	r := newRand(t)
	for range 200 {
		var list []Entry
		for range r.IntN(40) {
			e := Entry{Prefix: randomPrefix(r)}
			if r.IntN(2) == 0 {
				e.Until = noon.Add(time.Duration(r.IntN(5)-2) * time.Second)
			}
			list = append(list, e)
		}
		table := NewTable(list)
		for range 200 {
			addr := randomAddr(r)
			if len(list) > 0 && r.IntN(2) == 0 { // at the edges
				addr = edge(r, list[r.IntN(len(list))].Prefix)
			}
			want := false
			for _, e := range list {
				if Canon(e.Prefix).Contains(addr.Unmap()) && (e.Until.IsZero() || noon.Before(e.Until)) {
					want = true
				}
			}
			if got := table.Holds(noon, addr); got != want {
				t.Fatalf("%v: banned %v, want %v, by %v", addr, got, want, list)
			}
		}
	}
}

// The random addresses are few and close together, so that prefixes lie in each other and end where others begin.
func randomAddr(r *rand.Rand) netip.Addr {
	if r.IntN(2) == 0 {
		a := netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(4)), byte(r.IntN(256))})
		if r.IntN(4) == 0 {
			return netip.AddrFrom16(a.As16())
		}
		return a
	}
	var b [16]byte
	b[0], b[7], b[8], b[15] = 0x20, byte(r.IntN(4)), byte(r.IntN(4)), byte(r.IntN(256))
	return netip.AddrFrom16(b)
}

func randomPrefix(r *rand.Rand) netip.Prefix {
	a := randomAddr(r)
	return netip.PrefixFrom(a, 1+r.IntN(a.BitLen()))
}

// edge returns the first address of a prefix, the one before, the last, or the one after.
func edge(r *rand.Rand, p netip.Prefix) netip.Addr {
	first := Canon(p)
	last := first.Addr().AsSlice()
	for i := first.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	for _, a := range []netip.Addr{first.Addr(), end, first.Addr().Prev(), end.Next()}[r.IntN(4):] {
		if a.IsValid() {
			return a
		}
	}
	return end
}

func TestADoorCountsAndANewTableHoldsAtOnce(t *testing.T) {
	set := new(Set)
	a, b := NewDoor(set.Holds), NewDoor(set.Holds)
	addr := netip.MustParseAddr("192.0.2.1")
	if a.Shuts(noon, addr) {
		t.Error("nobody is banned, and the door is shut")
	}
	set.Use(NewTable([]Entry{{netip.MustParsePrefix("192.0.2.0/24"), time.Time{}}}))
	for _, door := range []*Door{a, a, b} {
		if !door.Shuts(noon, addr) {
			t.Error("a banned address passes")
		}
	}
	set.Use(NewTable(nil))
	if a.Shuts(noon, addr) {
		t.Error("the ban is over, and the door is shut")
	}
	if a.Turned() != 2 || b.Turned() != 1 {
		t.Errorf("turned %d and %d, want 2 and 1", a.Turned(), b.Turned())
	}
	var none *Door
	if none.Shuts(noon, addr) || NewDoor(nil).Shuts(noon, addr) || none.Turned() != 0 {
		t.Error("a door without a set is shut")
	}
}

// many returns as many bans as a server has at most, and addresses of which half are banned.
func many(r *rand.Rand) (*Set, []netip.Addr) {
	var list []Entry
	var addrs []netip.Addr
	for range 10_000 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], r.Uint32())
		a := netip.AddrFrom4(b)
		list = append(list, Entry{netip.PrefixFrom(a, 24+r.IntN(9)), time.Time{}})
		addrs = append(addrs, a)
		binary.BigEndian.PutUint32(b[:], r.Uint32())
		addrs = append(addrs, netip.AddrFrom4(b))
	}
	set := new(Set)
	set.Use(NewTable(list))
	return set, addrs
}

func TestALookAtTheBansAllocatesNothing(t *testing.T) {
	set, addrs := many(newRand(t))
	door, i := NewDoor(set.Holds), 0
	if n := testing.AllocsPerRun(1000, func() {
		door.Shuts(noon, addrs[i%len(addrs)])
		i++
	}); n != 0 {
		t.Errorf("%v allocations a look", n)
	}
}

func BenchmarkDoor(b *testing.B) {
	full, addrs := many(rand.New(rand.NewPCG(1, 1)))
	for _, tt := range []struct {
		bans int
		set  *Set
	}{{0, new(Set)}, {10_000, full}} {
		b.Run(fmt.Sprintf("bans=%d", tt.bans), func(b *testing.B) {
			door, i := NewDoor(tt.set.Holds), 0
			b.ReportAllocs()
			for b.Loop() {
				door.Shuts(noon, addrs[i])
				if i++; i == len(addrs) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkNewTable is what a ban costs the operator's goroutine when there are as many as there may be.
func BenchmarkNewTable(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var list []Entry
	for range 10_000 {
		list = append(list, Entry{Prefix: randomPrefix(r)})
	}
	for b.Loop() {
		NewTable(list)
	}
}
