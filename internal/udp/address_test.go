package udp

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"testing"
)

// linkLocal returns a link-local address of this machine with its zone.
func linkLocal(t *testing.T) (netip.Addr, bool) {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && prefix.Addr().Is6() && prefix.Addr().IsLinkLocalUnicast() {
				return prefix.Addr().WithZone(i.Name), true
			}
		}
	}
	return netip.Addr{}, false
}

func TestCanonical(t *testing.T) {
	lo := loopbackInterface(t)
	for _, tt := range []struct{ name, in, want string }{
		{"IPv4 stays", "192.0.2.1:7", "192.0.2.1:7"},
		{"4-in-6 is unwrapped", "[::ffff:192.0.2.1]:7", "192.0.2.1:7"},
		{"4-in-6 with a zone is unwrapped", "[::ffff:192.0.2.1%lo]:7", "192.0.2.1:7"},
		{"IPv6 stays", "[2001:db8::1]:7", "[2001:db8::1]:7"},
		{"a zone without meaning goes", "[2001:db8::1%eth0]:7", "[2001:db8::1]:7"},
		{"a zone by name stays", "[fe80::1%" + lo.Name + "]:7", "[fe80::1%" + lo.Name + "]:7"},
		{"a zone by number becomes a name", "[fe80::1%" + strconv.Itoa(lo.Index) + "]:7", "[fe80::1%" + lo.Name + "]:7"},
		{"a number without an interface stays", "[fe80::1%4000000000]:7", "[fe80::1%4000000000]:7"},
		{"multicast of a link has a zone", "[ff02::1%" + lo.Name + "]:7", "[ff02::1%" + lo.Name + "]:7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Canonical(netip.MustParseAddrPort(tt.in))
			if got != netip.MustParseAddrPort(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if again := Canonical(got); again != got {
				t.Errorf("canonical form of %v is %v", got, again)
			}
		})
	}
	if got := Canonical(netip.AddrPort{}); got.IsValid() {
		t.Errorf("the zero address became %v", got)
	}
}

func loopbackInterface(t *testing.T) net.Interface {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			return i
		}
	}
	t.Fatal("this machine has no loopback interface")
	return net.Interface{}
}

// randomPeer returns an address of any form that a peer may have.
func randomPeer(r *rand.Rand, zones []string) netip.AddrPort {
	var b [16]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	var ip netip.Addr
	switch r.IntN(4) {
	case 0:
		ip = netip.AddrFrom4([4]byte(b[:4]))
	case 1:
		copy(b[:], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF})
		ip = netip.AddrFrom16(b)
	case 2:
		b[0] = 0x20
		ip = netip.AddrFrom16(b)
	default:
		b[0], b[1] = 0xFE, 0x80
		ip = netip.AddrFrom16(b).WithZone(zones[r.IntN(len(zones))])
	}
	return netip.AddrPortFrom(ip, uint16(r.Uint32()))
}

// neighbour returns an address that differs from a in one small thing.
func neighbour(r *rand.Rand, a netip.AddrPort, zones []string) netip.AddrPort {
	ip := a.Addr()
	switch r.IntN(3) {
	case 0:
		return netip.AddrPortFrom(ip, a.Port()^1<<r.IntN(16))
	case 1:
		if ip.Zone() != "" {
			return netip.AddrPortFrom(ip.WithZone(zones[r.IntN(len(zones))]), a.Port())
		}
	}
	b := ip.As16()
	b[12+r.IntN(4)] ^= 1 << r.IntN(8)
	return netip.AddrPortFrom(netip.AddrFrom16(b).WithZone(ip.Zone()), a.Port())
}
