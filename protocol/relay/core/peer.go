package core

import (
	"time"

	"parley/internal/roster"
)

// Peer is a client that a server knows: an address at one of its ports. It is owned by the
// goroutine that calls the Mux.
type Peer struct {
	roster.Member
	port    *Port
	room    *Room
	place   int       // in the room's list
	rested  time.Time // when it wanted to be called, as it said last
	stirred bool      // more than a package to send has come since
	busy    bool      // it has yet to rest in this turn
	joined  bool      // the game knows of it
	leaves  bool      // it is to be told that it left: see rare

	waitsFor int32         // receivers with whom its line is full
	share    meter         // of the room's rate
	wakeAt   time.Duration // when it has a share again, in the time of the Mux; 0 if it does not wait for that

	Endpoint

	// Seat is the lobby's own data for the peer, Value the game's.
	Seat, Value any
	// Name is the lobby's name for the peer. In an open room with tickets, it is the name
	// in its ticket.
	Name string
}

// Port returns the server's port that the peer sends to.
func (p *Peer) Port() *Port { return p.port }

// Room returns the room of the peer, nil if it is in none.
func (p *Peer) Room() *Room { return p.room }

// Send sends the peer a package of the server's own, with bit 4 set. If Send returns an
// error, nothing is sent. The time is that of the latest call of the Mux.
func (p *Peer) Send(mode Mode, payload []byte) error {
	if err := p.maySend(mode, payload); err != nil {
		return err
	}
	now := p.port.mux.now
	p.now = now
	err := p.sendCopy(now, mode, true, payload)
	p.port.load(p)
	return err
}

// Prove says that the peer receives what is sent to its address. From now on, it may be
// sent everything.
func (p *Peer) Prove() {
	p.allowance.Prove()
	p.port.touch(p)
}

// Proven reports whether the peer's address is proven, or near enough to need no proof.
func (p *Peer) Proven() bool { return p.allowance.Proven() }

// Join tells the game of the peer, with EventJoined. Packages for the server that were
// received before come after it.
func (p *Peer) Join() {
	if !p.joined {
		p.joined, p.announce = true, true
		p.port.touch(p)
	}
}

// Leave tells the game that the peer left, with EventLeft, although the server still knows
// it: it may Join again. When a peer ends, the game is told anyway.
func (p *Peer) Leave(why Close) {
	switch {
	case p.announce: // the game has not heard of it yet
		p.announce, p.joined = false, false
	case p.joined && !p.leaves:
		p.leaves, p.seldom().why = true, why
		p.port.touch(p)
	}
}

// Close makes the peer leave when everything sent to it is confirmed.
func (p *Peer) Close(text string) {
	p.Endpoint.Close(p.port.mux.now, text)
	p.port.touch(p)
}

// Remove makes the peer leave at once. Unconfirmed packages are dropped.
func (p *Peer) Remove(why Close) {
	p.Cut(p.port.mux.now, why)
	p.port.touch(p)
}

// nextEvent returns the next thing of the peer that the game is to know. What is not for
// the game is handed to the lobby on the way.
func (p *Peer) nextEvent(now time.Time) (Event, bool) {
	m := p.port.mux
	p.now = now
	for {
		if p.announce {
			p.announce = false
			return Event{Kind: EventJoined}, true
		}
		if p.leaves {
			p.leaves, p.joined = false, false
			return Event{Kind: EventLeft, Close: p.why}, true
		}
		p.hold = p.mustWait()
		pkg, ok := p.nextPackage()
		if !ok {
			break
		}
		if !pkg.Server && pkg.Mode.Reliable() && p.room != nil {
			p.room.passes(p)
		}
		if m.lobby.Receive(now, p, pkg) {
			m.stats.ToGame++
			return Event{Kind: EventPackage, Package: pkg}, true
		}
	}
	if !p.last || p.hold && p.receiver.HasNext() {
		return Event{}, false
	}
	p.last = false
	p.port.forget(now, p)
	if p.joined {
		p.joined = false
		return Event{Kind: EventLeft, Close: p.closing.close}, true
	}
	return Event{}, false
}
