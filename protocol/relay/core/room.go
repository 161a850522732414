package core

import (
	"iter"
	"slices"
	"time"

	"parley/internal/lend"
)

// Room is a set of peers that exchange packages: "what one sends to the others … goes to every other participant,
// payload untouched, in the same mode, under the receiver's own numbering". The bytes of a package are kept once
// for all receivers. A peer is in one room at most.
//
// Each participant has a share of the room's rate (Rules.RoomRate), and of the queue of each receiver. Beyond
// either, its unreliable packages are dropped. Its reliable packages wait at the server. When too many wait, they
// are no longer confirmed, so the sender is slowed down, and no receiver is removed for the traffic of another. A
// receiver that takes less than 50 KB/s and keeps a sender of at most 20 packages a second waiting for 5 s is
// removed with ReasonSlow.
type Room struct {
	mux     *Mux
	members []*Peer
	idle    meter // the part of the room's rate that nobody uses
	closed  bool

	elsewhere Elsewhere // nil unless other servers have participants of it too
	remotes   int       // of those, how many are known
}

// NewRoom returns an empty room.
func (m *Mux) NewRoom() *Room { return &Room{mux: m} }

// Add puts a peer into the room, and takes it out of its former one. A closed room takes nobody.
func (r *Room) Add(p *Peer) {
	switch {
	case r.closed || p.room == r || p.end.state == StateClosed:
		return
	case p.room != nil:
		p.room.Remove(p)
	}
	p.room, p.place = r, int32(len(r.members))
	r.members = append(r.members, p)
}

// Remove takes a peer out of the room. Packages that were relayed to it before are still sent.
func (r *Room) Remove(p *Peer) {
	if p.room != r {
		return
	}
	last := len(r.members) - 1
	moved := r.members[last]
	r.members[p.place], moved.place = moved, p.place
	r.members[last] = nil
	r.members = r.members[:last]
	p.room = nil
}

// Close closes the room: each peer in it leaves when everything sent to it is confirmed, as with Peer.Close, and nobody is added any more.
// The server keeps nothing of a closed room.
func (r *Room) Close(text string) {
	r.closed = true
	for _, p := range r.members {
		p.Close(text)
	}
}

// Len returns the number of peers in the room.
func (r *Room) Len() int { return len(r.members) }

// All yields the peers in the room. Do not add or remove any while ranging over them.
func (r *Room) All() iter.Seq[*Peer] { return slices.Values(r.members) }

// Relay relays a package of from to every other participant, with bit 4 of the flags clear. from may be nil, or a
// peer that is no longer in the room. The time is that of the latest call of the Mux.
func (r *Room) Relay(from *Peer, mode Mode, payload []byte) error {
	r.pass(from, mode, payload)
	return r.spread(from, mode, false, payload)
}

// Say sends a package of the server's own to every participant, with bit 4 of the flags set. It returns
// ErrBacklogFull if the package is reliable and too many packages of the server wait for a participant. That
// participant does not get it; the others do.
func (r *Room) Say(mode Mode, payload []byte) error { return r.spread(nil, mode, true, payload) }

func (r *Room) spread(from *Peer, mode Mode, server bool, payload []byte) error {
	switch {
	case mode > SemiOrdered:
		return ErrMode
	case len(payload) == 0 || len(payload) > MaxPayload:
		return ErrPayloadSize
	}
	r.mux.stats.Relayed++
	shared := r.mux.shared.buffers.Share(payload)
	var missed error
	for _, p := range r.members {
		if p == from || p.end.state != StateOpen {
			continue
		}
		switch err := p.give(r.mux.now, mode, server, shared, from); {
		case err == nil:
			r.mux.stats.Copies++
		case from == nil:
			missed = err
			r.mux.stats.Unsaid++
		default: // the room is so large that its senders' least shares are too much
			p.end.fail(Close{Reason: ReasonSlow})
			p.port.touch(p)
		}
	}
	r.mux.shared.buffers.Release(shared)
	return missed
}

// give has a package sent to the peer, at once or when its turn comes. It returns an error when too
// much waits already.
func (p *Peer) give(now time.Time, mode Mode, server bool, payload *lend.Shared, from *Peer) error {
	p.end.now = now
	if p.mayGoDirect(now, mode) {
		return p.sendDirect(now, mode, server, payload, from)
	}
	err := p.end.sendShared(now, mode, server, payload, from)
	p.port.load(p)
	return err
}
