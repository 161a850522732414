package tcp

import (
	"net/netip"

	"parley/simnet"
)

const (
	// segmentBytes is what a segment carries on Ethernet, with the option of timestamps.
	segmentBytes = 1448

	// headerBytes is what TCP's header, with that option, has more than UDP's, which simnet counts.
	headerBytes = 20 + 12 - 8
)

// Flow is one download.
type Flow struct {
	net      *simnet.Network
	host     *simnet.Host
	sender   *sender
	receiver *receiver
}

// Join puts a download on a network: from sends to to over data, and to acknowledges over back. It rests until Start.
func Join(n *simnet.Network, c Control, from, to netip.AddrPort, data, back *simnet.Link) *Flow {
	f := &Flow{net: n, sender: newSender(to, c), receiver: &receiver{to: from, early: map[uint32]bool{}}}
	f.host = n.Add(from, f.sender)
	other := n.Add(to, f.receiver)
	n.Route(f.host, other, data)
	n.Route(other, f.host, back)
	return f
}

// Start begins to send, now.
func (f *Flow) Start() {
	f.sender.started, f.sender.now = true, f.host.Now()
	f.host.Poke()
}

// Received returns how many bytes have arrived in order, without headers and copies.
func (f *Flow) Received() int64 { return int64(f.receiver.next) * segmentBytes }

// Stats are the counters of a sender.
type Stats struct {
	Sent, Resent uint64 // segments; Sent includes Resent
	Reductions   uint64 // of the window, because of a loss
	Timeouts     uint64
}

// Stats returns the counters so far.
func (f *Flow) Stats() Stats { return f.sender.stats }

// Window returns the congestion window now, in segments.
func (f *Flow) Window() float64 { return f.sender.window.size }
