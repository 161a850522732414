package udp

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"unsafe"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// T34: the key of a peer. Through the kernel's form and back each address comes
// out canonical, and two peers are one exactly when their canonical forms are.
func TestPeersAreDistinctThroughTheKernelsForm(t *testing.T) {
	var zones []string
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		zones = append(zones, i.Name)
	}
	zones = append(zones, "4000000000", "4000000001") // known by number only
	pairs := 1_000_000
	if testing.Short() || !promise.Full() {
		pairs = 100_000
	}
	runSeed(t, max(chance.Flag(), 1), func(t *testing.T, r *rand.Rand) {
		through := func(a netip.AddrPort) (raw sockaddr, back netip.AddrPort) {
			if raw.encode(family6, a) == 0 {
				t.Fatalf("%v has no IPv6 form", a)
			}
			return raw, raw.decode()
		}
		for range promise.Keeps(t, "T34", "udp", pairs) {
			a := randomPeer(r, zones)
			b := neighbour(r, a, zones)
			if r.IntN(4) == 0 {
				b = randomPeer(r, zones)
			}
			rawA, backA := through(a)
			rawB, backB := through(b)
			if backA != Canonical(a) || backB != Canonical(b) {
				t.Fatalf("%v came back as %v, %v as %v", a, backA, b, backB)
			}
			if same := Canonical(a) == Canonical(b); same != (backA == backB) || same != (rawA == rawB) {
				t.Fatalf("%v and %v: equal %v, equal after %v, equal to the kernel %v", a, b, same, backA == backB, rawA == rawB)
			}
			if ip := a.Addr().Unmap(); ip.Is4() {
				var raw4 sockaddr
				if raw4.encode(family4, a) == 0 || raw4.decode() != backA {
					t.Fatalf("%v is %v by IPv4 and %v by IPv6", a, raw4.decode(), backA)
				}
			}
		}
	})
}

func TestAnAddressThatASocketCannotNameIsRefused(t *testing.T) {
	var sa sockaddr
	for _, tt := range []struct {
		name   string
		family family
		addr   string
	}{
		{"IPv6 at an IPv4 socket", family4, "[2001:db8::1]:7"},
		{"link-local without an interface", family6, "[fe80::1]:7"},
		{"link-local of an unknown interface", family6, "[fe80::1%nosuch0]:7"},
	} {
		if n := sa.encode(tt.family, netip.MustParseAddrPort(tt.addr)); n != 0 {
			t.Errorf("%s: encoded into %d bytes", tt.name, n)
		}
	}
	// 169.254.0.0/16 is link-local too, but IPv4 has no zones.
	local := netip.MustParseAddrPort("[::ffff:169.254.1.2]:7")
	if sa.encode(family6, local) == 0 || sa.decode() != netip.MustParseAddrPort("169.254.1.2:7") {
		t.Errorf("%v came back as %v", local, sa.decode())
	}
	for _, f := range []family{family4, family6} {
		if n := sa.encode(f, netip.AddrPort{}); n != 0 {
			t.Errorf("the zero address was encoded into %d bytes", n)
		}
	}
	if size := unsafe.Sizeof(sa); size != 28 {
		t.Errorf("a sockaddr has %d bytes, want 28", size)
	}
}
