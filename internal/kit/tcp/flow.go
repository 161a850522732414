package tcp

import (
	"net/netip"

	"parley/simnet"
)

// Flow is one download.
type Flow struct {
	host             *simnet.Host
	sender, receiver *Pipe
}

// Join puts a download on a network: from sends to to over data, and to acknowledges over back. It rests until Start.
func Join(n *simnet.Network, c Control, from, to netip.AddrPort, data, back *simnet.Link) *Flow {
	f := &Flow{sender: NewPipe(to, c), receiver: NewPipe(from, c)}
	f.host = n.Add(from, f.sender)
	other := n.Add(to, f.receiver)
	n.Route(f.host, other, data)
	n.Route(other, f.host, back)
	return f
}

// Start begins to send, now.
func (f *Flow) Start() {
	f.sender.sender.endless, f.sender.sender.now = true, f.host.Now()
	f.host.Poke()
}

// Received returns how many bytes have arrived in order, without headers and copies.
func (f *Flow) Received() int64 { return int64(f.receiver.receiver.next) * segmentBytes }

// Stats are the counters of a sender.
type Stats struct {
	Sent, Resent uint64 // segments; Sent includes Resent
	Reductions   uint64 // of the window, because of a loss
	Timeouts     uint64
}

// Stats returns the counters so far.
func (f *Flow) Stats() Stats { return f.sender.sender.stats }

// Window returns the congestion window now, in segments.
func (f *Flow) Window() float64 { return f.sender.sender.window.size }
