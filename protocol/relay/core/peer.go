package core

import (
	"net/netip"
	"time"

	"parley/internal/roster"
)

// Peer is a client that a server knows: an address at one of its ports. It is owned by the
// goroutine that calls the Mux.
type Peer struct {
	member
	port    *Port
	room    *Room
	rested  time.Time // its NextTimeout when it was last idle
	stirred bool      // more than a package to send has come since
	busy    bool      // it is not idle yet in this turn
	joined  bool      // the game knows of it
	leaves  bool      // the game is to be told that it left: see rare

	waitsFor int32 // receivers at which its line is full
	place    int32 // in the room's list

	// LogNumber, if the program sets it, is in each line of the log about the connection, as conn.
	LogNumber uint32

	share  meter         // its share of the room's rate
	wakeAt time.Duration // when it has a share again, in the time of the Mux; 0 if it does not wait for its share

	end Endpoint

	in, out uint32 // bytes; they wrap around

	// Seat is the lobby's own data for the peer, and Value is the game's.
	Seat, Value any
	// Name is the lobby's name for the peer. In an open room with tickets, it is the name
	// in its ticket.
	Name string
}

// member is embedded by a name that the users of a peer do not see.
type member = roster.Member

// Addr returns the peer's address. A session of a browser has one that is made up.
func (p *Peer) Addr() netip.AddrPort { return p.end.peer }

// Source returns the peer's true address, which rates, counts, bans and logs go by.
func (p *Peer) Source() netip.AddrPort {
	if p.end.rare == nil || !p.end.source.IsValid() {
		return p.end.peer
	}
	return p.end.source
}

// RTT returns the round-trip time of the path, 0 while it is unknown: see Endpoint.RTT.
func (p *Peer) RTT() time.Duration { return p.end.RTT() }

// State returns the state of the server's end.
func (p *Peer) State() State { return p.end.state }

// Answered reports whether the peer has confirmed something.
func (p *Peer) Answered() bool { return p.end.answered }

// Unconfirmed returns how many reliable packages to the peer are in flight or waiting.
func (p *Peer) Unconfirmed() int { return p.end.Unconfirmed() }

// Bytes returns how many bytes of payload have come from the peer, and how many were sent to it. They wrap around.
func (p *Peer) Bytes() (in, out uint32) { return p.in, p.out }

// Stats returns the counters.
func (p *Peer) Stats() Stats { return p.end.Stats() }

// Port returns the server's port that the peer sends to.
func (p *Peer) Port() *Port { return p.port }

// Room returns the room of the peer, nil if it is in none.
func (p *Peer) Room() *Room { return p.room }

// Send sends the peer a package of the server's own, with bit 4 of the flags set. If Send
// returns an error, nothing is sent. The time is that of the latest call of the Mux.
func (p *Peer) Send(mode Mode, payload []byte) error { return p.send(mode, payload, 0) }

// SendTagged is Send of a reliable package, and the game gets EventAcked with the tag when the peer has confirmed it. The tag is from 1
// to MaxTag, and need not be unique. It is not sent.
func (p *Peer) SendTagged(mode Mode, payload []byte, tag uint32) error {
	if tag == 0 || tag > MaxTag || mode == Unreliable {
		return ErrTag
	}
	return p.send(mode, payload, tag)
}

func (p *Peer) send(mode Mode, payload []byte, tag uint32) error {
	if err := p.end.maySend(mode, payload); err != nil {
		return err
	}
	now := p.port.mux.now
	p.end.now = now
	err := p.end.sendTagged(now, mode, true, payload, tag)
	p.port.load(p)
	return err
}

// Repeat sends the peer an unreliable package of the server's own a few milliseconds from now. It is for a package that was
// just sent, and that the peer waits for: nothing confirms it, and so a short burst of loss does not take both. It is sent if
// probes are lost on the path, or too few were sent to know, and the path is not narrow. Another call before that replaces it.
func (p *Peer) Repeat(payload []byte) {
	if p.end.probes == nil || p.end.maySend(Unreliable, payload) != nil {
		return
	}
	p.end.now = p.port.mux.now
	if p.end.probes.repeat(&p.end, payload) {
		p.port.load(p)
	}
}

// Budget returns how many bytes the tick that begins now may send the peer, headers of IP and UDP included: a great many
// unless the path to the peer is narrow. Call it once a tick, before the tick's packages are sent. The first call has the path
// measured from then on. If it is 0, only what the peer cannot do without should be sent.
func (p *Peer) Budget() int {
	n, probes := p.end.budget(p.port.mux.now)
	if probes {
		p.port.load(p)
	}
	return n
}

// Path returns what is known of the path to the peer. Without Budget nothing is.
func (p *Peer) Path() Path { return p.end.sender.Path() }

// Prove tells the Mux that the peer's address is proven. From now on, the bytes sent to it
// are not limited by Rules.Grace.
func (p *Peer) Prove() {
	p.end.allowance.Prove()
	p.port.touch(p)
}

// Proven reports whether the peer's address is proven, or needs no proof: see Rules.Grace.
func (p *Peer) Proven() bool { return p.end.allowance.Proven() }

// Join tells the game of the peer, with EventJoined. Packages for the server that arrived
// earlier come after that event.
func (p *Peer) Join() {
	if !p.joined {
		p.joined, p.end.announce = true, true
		p.port.touch(p)
	}
}

// Leave tells the game that the peer left, with EventLeft. The server still knows the peer,
// and the lobby may call Join again. When a peer ends, the game is told without Leave.
func (p *Peer) Leave(why Close) {
	switch {
	case p.end.announce: // the game has not heard of it yet
		p.end.announce, p.joined = false, false
	case p.joined && !p.leaves:
		p.leaves, p.end.seldom().why = true, why
		p.port.touch(p)
	}
}

// Close makes the peer leave when everything sent to it is confirmed.
func (p *Peer) Close(text string) {
	p.end.Close(p.port.mux.now, text)
	p.port.touch(p)
}

// Remove makes the peer leave at once. Unconfirmed packages are dropped.
func (p *Peer) Remove(why Close) {
	p.end.Cut(p.port.mux.now, why)
	p.port.touch(p)
}

// nextEvent returns the next thing of the peer that the game is to know. What is not for
// the game is handed to the lobby on the way.
func (p *Peer) nextEvent(now time.Time) (Event, bool) {
	m := p.port.mux
	p.end.now = now
	for {
		if p.end.announce {
			p.end.announce = false
			return Event{Kind: EventJoined}, true
		}
		if tag, ok := p.end.nextAcked(); ok {
			return Event{Kind: EventAcked, Tag: tag}, true
		}
		if p.leaves {
			p.leaves, p.joined = false, false
			return Event{Kind: EventLeft, Close: p.end.why}, true
		}
		p.end.hold = p.mustWait()
		pkg, ok := p.end.nextPackage()
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
	if !p.end.last || p.end.hold && p.end.receiver.HasNext() {
		return Event{}, false
	}
	p.end.last = false
	p.port.forget(now, p)
	if p.joined {
		p.joined = false
		why := p.end.closing.close
		return Event{Kind: EventLeft, Close: why, Goodbye: why.Reason == ReasonLeft}, true
	}
	return Event{}, false
}
