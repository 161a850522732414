package carry

import (
	"net/netip"

	"parley/internal/admission"
	"parley/internal/datagram"
	"parley/internal/stream"
	"parley/internal/way"
)

// Sessions is a Hall as the server of its dialect knows it, or nobody's. It is an interface so that a program without a Building does not
// have the code of sessions.
type Sessions interface {
	admission.Sources
	Stats() Stats
	Welcome(peer netip.AddrPort)
	Hangup(peer netip.AddrPort)
	StreamKind(peer netip.AddrPort) way.Kind

	join(base datagram.Carrier) datagram.Carrier
	joinStreams(base stream.Carrier) stream.Carrier
}

// nobody has no sessions.
type nobody struct{}

func (nobody) Source(peer netip.AddrPort) netip.AddrPort      { return peer }
func (nobody) Stats() Stats                                   { return Stats{} }
func (nobody) Welcome(netip.AddrPort)                         {}
func (nobody) Hangup(netip.AddrPort)                          {}
func (nobody) StreamKind(netip.AddrPort) way.Kind             { return way.UDP }
func (nobody) join(base datagram.Carrier) datagram.Carrier    { return base }
func (nobody) joinStreams(base stream.Carrier) stream.Carrier { return base }
