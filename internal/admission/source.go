package admission

import "net/netip"

// Sources knows the true addresses of peers whose own are made up, as those of sessions of browsers are.
type Sources interface {
	Source(peer netip.AddrPort) netip.AddrPort
}

// SourceOf returns the address of a peer that counts, limits, bans and logs go by. nil Sources know none that are made up.
func SourceOf(s Sources, peer netip.AddrPort) netip.AddrPort {
	if s == nil {
		return peer
	}
	return s.Source(peer)
}
