package relay

import (
	"iter"
	"slices"
	"time"

	"parley/internal/reliable"
)

// Room is a set of peers who exchange packages: "what one sends to the others … goes to every
// other participant, payload untouched, in the same mode, under the receiver's own
// numbering". The bytes of a package are kept once, however many get it. A peer is in one room
// at most.
//
// Each participant has a queue of its own. One that does not confirm, or to whose address
// nothing may be sent, fills only that, and is removed with ReasonSlow when it is full: the
// others never wait.
type Room struct {
	mux     *Mux
	members []*Peer
}

// NewRoom returns an empty room.
func (m *Mux) NewRoom() *Room { return &Room{mux: m} }

// Add puts a peer into the room, and takes it out of the one that it was in.
func (r *Room) Add(p *Peer) {
	switch {
	case p.room == r || p.state == StateClosed:
		return
	case p.room != nil:
		p.room.Remove(p)
	}
	p.room, p.place = r, len(r.members)
	r.members = append(r.members, p)
}

// Remove takes a peer out of the room. What was relayed to it before is still sent.
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

// Len returns how many are in the room.
func (r *Room) Len() int { return len(r.members) }

// All yields those in the room. None may be added or removed meanwhile.
func (r *Room) All() iter.Seq[*Peer] { return slices.Values(r.members) }

// Relay passes a package of from to every other participant, with bit 4 clear. from may be
// nil, or not be in the room any more. The time is that of the newest call of the Mux.
func (r *Room) Relay(from *Peer, mode Mode, payload []byte) error {
	return r.spread(from, mode, false, payload)
}

// Say sends a package of the server's own to every participant, with bit 4 set.
func (r *Room) Say(mode Mode, payload []byte) error { return r.spread(nil, mode, true, payload) }

func (r *Room) spread(from *Peer, mode Mode, server bool, payload []byte) error {
	switch {
	case mode > SemiOrdered:
		return ErrMode
	case len(payload) == 0 || len(payload) > MaxPayload:
		return ErrPayloadSize
	}
	r.mux.stats.Relayed++
	shared := r.mux.shared.Buffers.Share(payload)
	for _, p := range r.members {
		if p == from || p.state != StateOpen {
			continue
		}
		if !p.give(r.mux.now, mode, server, shared) {
			p.fail(Close{Reason: ReasonSlow})
			p.port.touch(p)
			continue
		}
		r.mux.stats.Copies++
	}
	r.mux.shared.Buffers.Release(shared)
	return nil
}

// give has a package sent to the peer, at once or when its turn comes. It reports false when too
// much waits already.
func (p *Peer) give(now time.Time, mode Mode, server bool, payload *reliable.Shared) bool {
	p.now = now
	if p.mayGoDirect(now, mode) {
		return p.sendDirect(now, mode, server, payload) == nil
	}
	err := p.sendShared(now, mode, server, payload)
	p.port.load(p)
	return err == nil
}
