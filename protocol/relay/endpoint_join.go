package relay

import (
	"net/netip"
	"time"

	"parley/internal/wire"
)

// The payload of a challenge: u8 255, u64 nonce. Nothing else that the server itself says,
// or is told, in 9 bytes may begin with 255.
const (
	challengeByte  = 255
	challengeBytes = 9
)

// NewClient returns a client that begins to join a room: its first package is the ticket of
// the configuration, or an empty one if there is none. It has joined when that is
// confirmed.
func NewClient(now time.Time, server netip.AddrPort, c Config, s *Shared) (*Endpoint, error) {
	if len(c.Ticket) > MaxPayload {
		return nil, ErrPayloadSize
	}
	e := newEndpoint(now, server, true, c.Rules.fill(), s, 0)
	e.state = StateJoining
	e.seldom().queue.delay = c.FlushAfter
	orElse(&e.queue.delay, 10*time.Millisecond)
	if len(c.Ticket) == 0 {
		return &e, e.sendReliable(now, outgoing{flags: packageFlags(Unordered, true)})
	}
	return &e, e.sendCopy(now, Unordered, true, c.Ticket)
}

// PollEvent returns the next thing that happened to a client. EventLeft comes when all that
// arrived before it has been read, and nothing comes after it.
func (e *Endpoint) PollEvent() (Event, bool) {
	if e.announce {
		e.announce = false
		return Event{Kind: EventJoined}, true
	}
	for p, ok := e.nextPackage(); ok; p, ok = e.nextPackage() {
		if !e.answers(&p) {
			return Event{Kind: EventPackage, Package: p}, true
		}
	}
	if e.last {
		e.last = false
		e.forget()
		return Event{Kind: EventLeft, Close: e.closing.close}, true
	}
	return Event{}, false
}

// answers takes a challenge: "One that sends the same payload to the server is proven; our
// client does."
func (e *Endpoint) answers(p *Package) bool {
	if !p.Server || !isChallenge(p.Payload) {
		return false
	}
	if e.state < StateClosing { // it may come before the confirmation that lets us in
		// Without room it is not answered; then much is unconfirmed, and so the server
		// does not hear us anyway.
		_ = e.sendCopy(e.now, Unordered, true, p.Payload)
	}
	return true
}

// isChallenge reports whether a payload to or from the server is a challenge.
func isChallenge(payload []byte) bool {
	_, ok := readChallenge(payload)
	return ok
}

// readChallenge returns the nonce of a challenge.
func readChallenge(payload []byte) (nonce uint64, ok bool) {
	if len(payload) != challengeBytes {
		return 0, false
	}
	r := wire.Big(payload)
	kind := r.U8("kind")
	nonce = r.U64("nonce")
	return nonce, kind == challengeByte && r.Done()
}
