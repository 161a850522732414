package udp

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Canonical returns the one form in which this package reports a peer, so that it can be
// the key of a map. An IPv4 address inside an IPv6 address is unwrapped. The zone is kept
// only on link-local addresses, where it means something, as the name of the interface.
func Canonical(a netip.AddrPort) netip.AddrPort {
	ip := a.Addr().Unmap()
	if zone := ip.Zone(); zone != "" {
		switch {
		case !scoped(ip):
			ip = ip.WithZone("")
		case isNumber(zone):
			index, _ := strconv.ParseUint(zone, 10, 32)
			ip = ip.WithZone(zones.name(uint32(index)))
		}
	}
	return netip.AddrPortFrom(ip, a.Port())
}

// scoped reports whether ip is an IPv6 address that means nothing without its interface.
func scoped(ip netip.Addr) bool {
	return ip.Is6() && !ip.Is4In6() &&
		(ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsInterfaceLocalMulticast())
}

// zoneIndex returns the number of the interface that a scoped address belongs to, and
// false when the address has no interface: then it names no peer.
func zoneIndex(ip netip.Addr) (uint32, bool) {
	if !scoped(ip) {
		return 0, true
	}
	index := zones.index(ip.Zone())
	return index, index != 0
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// resolve turns an address that a person wrote into an AddrPort. An empty host is the
// unspecified IPv6 address, which stands for all addresses of both families.
func resolve(addr string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddrPort(addr); err == nil {
		return Canonical(a), nil
	}
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		if p, err := strconv.ParseUint(port, 10, 16); err == nil {
			return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(p)), nil
		}
	}
	a, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return netip.AddrPort{}, &addressError{err.Error()}
	}
	return Canonical(a.AddrPort()), nil
}

// resolvePeer is resolve for an address to send to.
func resolvePeer(addr string) (netip.AddrPort, error) {
	peer, err := resolve(addr)
	if err == nil && (peer.Port() == 0 || peer.Addr().IsUnspecified()) {
		err = &addressError{"a peer has a host and a port"}
	}
	return peer, err
}
