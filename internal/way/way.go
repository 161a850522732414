// Package way says what carries a peer's bytes: UDP, WebSocket or WebTransport. A core knows a session of a carrier by an address that tells it, and so how
// large its packets may be. The package is pure.
package way

import (
	"encoding/binary"
	"net/netip"
)

// Kind says what carries a peer's bytes.
type Kind uint8

// The kinds.
const (
	UDP          Kind = iota // the zero value: also of all addresses that are no session's
	WebSocket                // ws
	WebTransport             // wt
	kindCount
)

// String returns the name of a carrier, as the API and the log have it.
func (k Kind) String() string {
	switch k {
	case WebSocket:
		return "ws"
	case WebTransport:
		return "wt"
	}
	return "udp"
}

// sessionNet is the network of sessions' addresses, fd70:6172:6c65:7900::/64. It is a private one, which nobody routes to us.
const sessionNet = 0xfd70_6172_6c65_7900

// sessionPort is the port of each session's address.
const sessionPort = 1

// SessionAddr returns the address of session number n of a kind. n has 56 bits.
func SessionAddr(k Kind, n uint64) netip.AddrPort {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], sessionNet)
	binary.BigEndian.PutUint64(b[8:], n) // the highest byte is overwritten
	b[8] = byte(k)
	return netip.AddrPortFrom(netip.AddrFrom16(b), sessionPort)
}

// The largest packets of cores.
const (
	mostBytes = 1200

	// mostOverQUIC leaves room for QUIC's own headers: "QUIC promises 1,200 bytes of UDP payload, so over WebTransport a core keeps its packets
	// within 1,100, both ways" (carriers).
	mostOverQUIC = 1100
)

// Largest returns how many bytes a core puts into one packet to an address, if it can cut what it has to say.
func Largest(a netip.Addr) int {
	if KindOf(a) == WebTransport {
		return mostOverQUIC
	}
	return mostBytes
}

// IsSession reports whether an address is one of those that SessionAddr returns. A packet from such an address that came from a network
// has a forged source.
func IsSession(a netip.Addr) bool {
	if !a.Is6() {
		return false
	}
	b := a.As16()
	return binary.BigEndian.Uint64(b[:]) == sessionNet
}

// KindOf returns what carries the datagrams of an address.
func KindOf(a netip.Addr) Kind {
	if !IsSession(a) {
		return UDP
	}
	b := a.As16()
	if k := Kind(b[8]); k < kindCount {
		return k
	}
	return UDP
}
