package admission

import "net/netip"

// Canon returns the one form of a peer's address that is used as a key: an IPv4 address
// inside IPv6 is that IPv4 address, and a zone is kept only on link-local addresses, where
// it distinguishes peers. The types of this package call Canon themselves. Call it for
// maps of your own.
func Canon(from netip.AddrPort) netip.AddrPort {
	addr := from.Addr()
	if !addr.Is4In6() && addr.Zone() == "" {
		return from
	}
	return netip.AddrPortFrom(canonAddr(addr), from.Port())
}

func canonAddr(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Zone() != "" && !addr.IsLinkLocalUnicast() && !addr.IsLinkLocalMulticast() && !addr.IsInterfaceLocalMulticast() {
		addr = addr.WithZone("")
	}
	return addr
}

// Nearby reports whether an address is loopback, private or link-local. Nobody on the
// internet can aim our answers at such an address.
func Nearby(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
}

// prefixOf returns a canonical address with all bits after the prefix cleared.
func prefixOf(addr netip.Addr) [16]byte {
	b := addr.As16()
	keep := prefixBits6 / 8
	if addr.Is4() {
		keep = 12 + prefixBits4/8 // As16 puts an IPv4 address into the last 4 bytes.
	}
	clear(b[keep:])
	return b
}
