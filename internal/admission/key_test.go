package admission

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"parley/internal/promise"
)

func TestCanon(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"IPv4 is itself", "192.0.2.1:5", "192.0.2.1:5"},
		{"IPv4 inside IPv6 is IPv4", "[::ffff:192.0.2.1]:5", "192.0.2.1:5"},
		{"IPv4 inside IPv6 has no zone", "[::ffff:192.0.2.1%eth0]:5", "192.0.2.1:5"},
		{"IPv6 is itself", "[2001:db8::1]:5", "[2001:db8::1]:5"},
		{"a global address has no zone", "[2001:db8::1%eth0]:5", "[2001:db8::1]:5"},
		{"a link-local address keeps its zone", "[fe80::1%eth0]:5", "[fe80::1%eth0]:5"},
	} {
		if got, want := Canon(addrPort(tt.in)), addrPort(tt.want); got != want {
			t.Errorf("%s: got %v, want %v", tt.name, got, want)
		}
	}
	if got := Canon(netip.AddrPort{}); got.IsValid() {
		t.Errorf("no address became %v", got)
	}
}

func TestNearby(t *testing.T) {
	for s, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "192.168.0.1": true, "::1": true, "fe80::1%eth0": true, "fd00::1": true,
		"::ffff:10.1.2.3": true, "8.8.8.8": false, "2001:db8::1": false, "::ffff:8.8.8.8": false, "172.32.0.1": false,
	} {
		if got := Nearby(addr(s)); got != want {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
}

// T34: distinct peers have distinct keys and distinct hashes; the same peer has one.
func TestDistinctPeersHaveDistinctKeys(t *testing.T) {
	n := promise.Keeps(t, "T34", "admission", tenth(t, 1_000_000))
	forEachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
		p := newPRF(testKey)
		keys := make(map[netip.AddrPort]bool, n)
		sums := make(map[uint64]netip.AddrPort, n)
		for len(keys) < n {
			from := randomPeer(rng)
			if keys[from] {
				continue
			}
			key := Canon(from)
			if keys[key] {
				t.Fatalf("%v has the key of another peer, %v", from, key)
			}
			keys[key] = true
			lo, _ := p.peer(useTable, key, 0)
			if other, ok := sums[lo]; ok {
				t.Fatalf("%v and %v have the same hash", key, other)
			}
			sums[lo] = key
			if from.Addr().Is4() {
				mapped := netip.AddrPortFrom(netip.AddrFrom16(from.Addr().As16()), from.Port())
				if mapped == from || Canon(mapped) != key {
					t.Fatalf("%v and %v have the keys %v and %v", from, mapped, key, Canon(mapped))
				}
			}
		}
	})
}

// T34: neighbours that differ in one thing only.
func TestCloseNeighboursAreToldApart(t *testing.T) {
	promise.Keeps(t, "T34", "admission", 1)
	p := newPRF(testKey)
	sums := map[[2]uint64]string{}
	peers := []netip.AddrPort{
		netip.AddrPortFrom(addr("fe80::1").WithZone("eth0\x00"), 5), // padding is not a part of a zone
	}
	for _, s := range []string{
		"192.0.2.1:5", "192.0.2.1:6", "192.0.2.2:5", "[2001:db8::1]:5", "[2001:db8::1]:6", "[2001:db8::2]:5",
		"[fe80::1]:5", "[fe80::1%eth0]:5", "[fe80::1%eth1]:5", "[fe80::1%eth0]:6", "[fe80::1%0123456789abcdef]:5", "[fe80::1%0123456789abcdef0]:5",
	} {
		peers = append(peers, addrPort(s))
	}
	for _, from := range peers {
		for _, u := range []use{useTable, useSeen, useSource, usePrefix, useClock, useToken} {
			for number := range uint64(2) {
				lo, hi := p.peer(u, from, number)
				if other, ok := sums[[2]uint64{lo, hi}]; ok {
					t.Errorf("%s, use %d, number %d: same sum as %s", from, u, number, other)
				}
				sums[[2]uint64{lo, hi}] = from.String()
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.255", true},
		{"192.0.2.1", "192.0.3.1", false},
		{"2001:db8:0:ff::1", "2001:db8:0:1::1", true},
		{"2001:db8:0:100::1", "2001:db8:0:1::1", false},
		{"::c000:201", "192.0.2.1", false},
	} {
		if got := prefixOf(addr(tt.a)) == prefixOf(addr(tt.b)); got != tt.same {
			t.Errorf("%s and %s share a prefix: %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}
