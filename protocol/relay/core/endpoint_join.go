package core

import (
	"cmp"
	"net/netip"
	"time"
)

// NewClient returns a client that begins to join a room. Its first package is Config.Ticket, or empty without one.
// The client has joined when that package is confirmed.
func NewClient(now time.Time, server netip.AddrPort, c Config, s *Shared) (*Endpoint, error) {
	if len(c.Ticket) > MaxPayload {
		return nil, ErrPayloadSize
	}
	c.Rules.HoleTimeout = cmp.Or(c.Rules.HoleTimeout, clientHoleTimeout)
	rules := c.Rules.fill()
	send := *rules.send
	send.CopyFirst = true // a player sends little, and would know too late that something is lost
	rules.send = &send
	e := newEndpoint(now, server, true, rules, s, 0)
	e.state = StateJoining
	e.seldom().queue.delay = c.FlushAfter
	e.queue.delay = cmp.Or(e.queue.delay, 10*time.Millisecond)
	e.first = append(appendHeader(nil, packageFlags(Unordered, true), 0), c.Ticket...)
	if len(c.Ticket) == 0 {
		return &e, e.sendReliable(now, outgoing{flags: packageFlags(Unordered, true)})
	}
	return &e, e.sendCopy(now, Unordered, true, c.Ticket)
}

// GiveUpUnheard makes a client end with ReasonUnheard if nothing at all has come from the server after this time: another
// local port may work. Default 0: it waits as long as its rules say.
func (e *Endpoint) GiveUpUnheard(after time.Duration) {
	if after > 0 {
		e.seldom().unheardAt = e.now.Add(after)
	}
}

// isUnheard reports whether nothing at all has come to a client that does not wait for long.
func (e *Endpoint) isUnheard() bool {
	return e.state == StateJoining && e.stats.In == 0 && e.rare != nil && !e.unheardAt.IsZero()
}

// PollEvent returns the next event of a client. EventLeft comes when all earlier arrivals have been read, and is
// the last event.
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

// answers takes what is not for the application.
func (e *Endpoint) answers(p *Package) bool {
	switch {
	case !p.Server:
		return false
	case isChallenge(p.Payload):
		if e.state < StateClosing { // it may come before the confirmation that lets us in
			e.answer(p.Payload)
		}
		return true
	}
	return e.state == StateClosed && e.closing.close.Reason == ReasonRefused // it was told by how it ended
}

// isRefusal reports whether a package says that we are not let in. Only a server that challenges says so: to other
// lobbies the byte may mean something else.
func (e *Endpoint) isRefusal(d *Datagram) bool {
	return d.ToServer && len(d.Payload) > 0 && d.Payload[0] == refusalByte && e.rare != nil && e.challenged
}

// answer sends a challenge back: "One that sends the same payload to the server is proven; our client
// does." What was sent before the proof was not confirmed; the first package goes again at once, twice.
func (e *Endpoint) answer(challenge []byte) {
	r := e.seldom()
	if r.challenged = true; r.first != nil {
		r.again = 2 // nothing tells soon that it is lost, and a server waits for it before it lets us in
	}
	// Without room it is not answered; then much is unconfirmed, and so the server
	// does not hear us anyway.
	_ = e.sendCopy(e.now, Unordered, true, challenge)
}

// printable returns a text of the server as far as it may be shown: printed letters of ASCII, 100 at most.
func printable(b []byte) string {
	text := make([]byte, 0, 100)
	for _, c := range b {
		if c >= ' ' && c <= '~' && len(text) < cap(text) {
			text = append(text, c)
		}
	}
	return string(text)
}
