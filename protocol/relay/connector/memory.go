package connector

import (
	"net/netip"
	"time"

	"parley/protocol/relay/core"
)

// memory is how far conversations had come whose guests are known no more. The library of the game's clients keeps its ids
// for ten minutes after the last package, so whoever begins at id 0 again within that time is taken for a repeat, and its
// packages wait for ever. It is bounded, and the oldest are forgotten first. The zero value remembers nothing.
type memory struct {
	limit int
	past  map[pastKey]past
	ring  []pastKey // in the order in which they were noted
	next  int       // where the next one goes
}

// pastKey is an address at a port. A game's port may be another game's soon after, and to the client it is the same.
type pastKey struct {
	port uint16
	addr netip.AddrPort
}

// past is one conversation that ended.
type past struct {
	core.Progress
	at     time.Duration // when, since the lobby's start
	place  int           // in the ring
	proven bool
}

// note remembers a conversation.
func (m *memory) note(at time.Duration, k pastKey, was core.Progress, proven bool) {
	if m.limit <= 0 || was.Send == 0 && was.Receive == 0 && was.Loose == 0 {
		return
	}
	if m.past == nil {
		m.past = map[pastKey]past{}
	}
	place := m.next
	if old, ok := m.past[k]; ok {
		place = old.place
	} else {
		if place == len(m.ring) {
			m.ring = append(m.ring, k)
		} else {
			if m.past[m.ring[place]].place == place {
				delete(m.past, m.ring[place])
			}
			m.ring[place] = k
		}
		m.next = (place + 1) % m.limit
	}
	m.past[k] = past{was, at, place, proven}
}

// recall returns a conversation that is not too long ago.
func (m *memory) recall(at time.Duration, k pastKey) (past, bool) {
	p, ok := m.past[k]
	if !ok || at-p.at >= rememberFor {
		return past{}, false
	}
	return p, true
}

// forget lets go of a conversation: somebody new has the address.
func (m *memory) forget(k pastKey) { delete(m.past, k) }

// isFarBehind reports whether more was not confirmed than is sent again: see Resume and guest.back.
func (p *past) isFarBehind() bool { return p.Send-p.Unsure > maxUnsure }

// owesProof reports whether an address has to prove itself again before its conversation goes on: it was proven, and so would be sent
// whatever there is, or ids are sent again, seven times each. Without, one forged datagram of 33 bytes brought 28 KB.
func (l *Lobby) owesProof(port uint16, addr netip.AddrPort) bool {
	was, ok := l.recall(port, addr)
	return ok && !l.isProven(addr) && !was.isFarBehind() && (was.proven || was.Unsure < was.Send)
}

// Resume returns where a conversation goes on. For a peer that is far behind, unconfirmed ids are not sent again.
func (l *Lobby) Resume(port *core.Port, addr netip.AddrPort) core.Progress {
	p, _ := l.recall(port.Number(), addr)
	if p.isFarBehind() {
		p.Unsure = p.Send
	}
	return p.Progress
}

func (l *Lobby) recall(port uint16, addr netip.AddrPort) (past, bool) {
	k := pastKey{port, addr}
	if p, ok := l.known.recall(l.at, k); ok {
		return p, true
	}
	return l.unknown.recall(l.at, k)
}

// remember notes how far a guest had come. Those that never proved anything have a part of their own, so that forged ones do not have
// the others forgotten.
func (l *Lobby) remember(g *guest) {
	k := pastKey{g.peer.Port().Number(), g.peer.Addr()}
	m := &l.unknown
	if _, was := l.known.recall(l.at, k); was || g.proven {
		m = &l.known
		l.unknown.forget(k)
	}
	m.note(l.at, k, core.ProgressOf(g.peer), m == &l.known)
}

// renews reports whether the first package of an address that was here is that of somebody new: it begins at id 0, and not because
// the confirmation of that was lost.
func (l *Lobby) renews(was past, first *core.Package) bool {
	return first.Mode.Reliable() && first.ID == 0 && was.Receive > 0 && l.at-was.at >= resendSpan
}
