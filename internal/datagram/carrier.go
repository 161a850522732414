package datagram

import (
	"net/netip"
	"time"
)

// Carrier brings datagrams of peers to a Loop and takes the datagrams of the loop's core. A UDP socket is
// one. A peer is known by an address: a carrier without addresses of its own gives each session one that no
// peer of another carrier has. So one carrier can be made of several, and the core does not notice.
//
// All calls concern whole batches. Wake, Stats and Close may be called by any goroutine.
type Carrier interface {
	// LocalAddr returns the address that peers reach. RemoteAddr returns the only peer of a client's
	// carrier, and the zero AddrPort for a server's.
	LocalAddr() netip.AddrPort
	RemoteAddr() netip.AddrPort

	// NewSendBatch returns an empty batch with room for the largest datagram that the carrier takes.
	NewSendBatch() *SendBatch

	// Serve calls turn with the datagrams that came, again and again, and does what turn asks for
	// between two calls. The first call comes at once. The batch is the carrier's: its bytes are valid
	// until turn returns. Serve returns nil after Stop, and an error if the carrier was closed or has
	// failed.
	Serve(turn Turn) error

	// Write sends all of out, and empties it. A datagram that cannot be sent is counted, and the others
	// are still sent. Write must not wait for a peer. The error means that the carrier is closed.
	Write(out *SendBatch) error

	// WriteInTurn is Write for the goroutine that is inside a turn.
	WriteInTurn(out *SendBatch) error

	// Wake makes Serve call turn soon. No wake is lost. Many before the next turn count as one.
	Wake()

	// Stats returns the counters as they are now.
	Stats() Stats

	// Close ends Serve and frees everything. A second call has no effect.
	Close() error
}

// Turn handles a batch, which may be empty, and returns what comes next. woken is set when Wake was called
// since the last turn. The time is for Wait.
type Turn func(in *RecvBatch, woken bool) (Next, time.Time)

// Next is what a turn wants to happen after it.
type Next uint8

const (
	Wait  Next = iota + 1 // wait for a datagram, a Wake, or the time given (zero: none)
	Again                 // another turn at once, after a read that does not wait
	Stop                  // leave Serve
)
