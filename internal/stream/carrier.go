package stream

import (
	"net/netip"
	"time"

	"parley/internal/pace"
)

// Carrier brings streams to a server core. A Listener is the carrier of TCP and TLS. Turn is for the core's goroutine.
type Carrier interface {
	// Start begins to bring streams. wake is called, from any goroutine, when Turn has something to do. It does not block.
	Start(wake func())

	// Turn reports to h what has happened since the last call, of at most MaxTurn streams: for the others it calls wake.
	// Call it after wake was called; more calls do no harm. Each stream gives at most one buffer of bytes a turn.
	Turn(now time.Time, h Handler)

	// Addr returns the address that the carrier listens on.
	Addr() netip.AddrPort

	// Stats returns the counters as they are now.
	Stats() Stats

	// Stop brings no more streams. Open ones go on.
	Stop()

	// Close stops, cuts all streams and waits for its goroutines. Turn must not be running, and must not be called again.
	Close()
}

// Stream is the bytes of one peer, in both directions. Its methods are for the goroutine that calls Turn.
type Stream interface {
	// Peer returns the address of the peer.
	Peer() netip.AddrPort

	// Carrier returns what brings the stream: "tcp", "tls", "ws" or "wt".
	Carrier() string

	// Born returns the time at which the carrier accepted the peer.
	Born() time.Time

	// Entered tells the carrier that the peer has identified itself, for example by a log-in. The stream no longer counts
	// towards the limit of streams that have not entered. The core calls Entered for each stream that it wants to keep.
	Entered()

	// Ready reports whether everything that was sent has gone out.
	Ready() bool

	// Send sends up to MaxSend bytes. It never blocks: bytes that cannot go out at once are kept, and the stream is not
	// Ready until Writable is called. Send only while the stream is Ready. If the stream fails, Ended is called.
	Send(b []byte)

	// Pace returns what the tick that begins now may do, and asks the system what has arrived. Call it once a tick, before the
	// tick's first Send. beside is how many bytes of datagrams have gone to the peer since the last call, on the same path as
	// the stream. Without a call, nothing is measured.
	Pace(now time.Time, beside int) Pace

	// Estimate returns what is known of the path to the peer.
	Estimate() pace.Estimate

	// Finish closes the stream when everything sent has gone out, so that the peer can read all of it. It waits for the
	// peer to close too, at most for the linger time.
	Finish()

	// Cut closes the stream at once. Bytes that the carrier still holds are dropped.
	Cut()
}

// Handler takes the streams that a Carrier brings. Turn calls it.
type Handler interface {
	// Opened reports a stream that can carry bytes, and returns the receiver of what comes. nil refuses the stream.
	Opened(now time.Time, s Stream) Receiver
}

// Receiver takes what comes from one stream. Turn calls it. After Finish or Cut only Ended is called.
type Receiver interface {
	// Received hands over bytes, which are valid only during the call, and returns how many were taken. The others are
	// handed over again with the next Turn, and no more are read before.
	Received(now time.Time, b []byte) (n int)

	// Writable reports that the stream is Ready again after it was not.
	Writable(now time.Time)

	// Ended reports that nothing more comes. It is called once. err is io.EOF if the peer closed its side.
	Ended(now time.Time, err error)
}

var (
	_ Carrier = (*Listener)(nil)
	_ Stream  = (*Conn)(nil)
)
