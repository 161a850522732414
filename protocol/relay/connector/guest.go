package connector

import (
	"time"

	"parley/protocol/relay/core"
)

// guest is what the lobby keeps of an address at one of its ports: it is the Seat of a peer.
type guest struct {
	peer  *core.Peer
	match *match // of the port; nil at the main port

	meters [asks]meter // of what it may ask
	share  meter       // of what it may send to others who are behind

	// proven says that its address is: see riddle.go. While it is not, asked is when it was last asked to prove itself,
	// and firstAsked when it was first.
	proven            bool
	asked, firstAsked time.Time
	packages          uint32 // that came: how long the conversation is

	bad      int32 // payloads that were no messages
	badSince time.Time

	waiting *groups // messages to it, nil before the first

	said time.Time // when it last said something

	// back says that it was a player here and was lost, and does not know it. It goes on with
	// ids that it has come to, while ours begin again, so it would take what is sent to it
	// reliably for repeats.
	back bool

	// In the list of strangers, while it is in it.
	listed     bool
	prev, next *guest
}

func newGuest(now time.Time, m *match) *guest {
	return &guest{match: m, said: now}
}

// misbehaves notes a payload that is no messages and reports whether it was one too many.
func (g *guest) misbehaves(now time.Time) bool {
	if g.bad == 0 || now.Sub(g.badSince) >= badSpan {
		g.bad, g.badSince = 0, now
	}
	g.bad++
	return g.bad >= maxBad
}

// isBehind reports whether a player has much to confirm: then others may send it little more.
func (g *guest) isBehind() bool {
	if g.proven {
		return g.peer.Unconfirmed() > behindPackages
	}
	return g.peer.Unconfirmed() > unprovenPackages/2
}

// trust takes an address for real enough to be sent what there is once it has confirmed something. It is a weak proof, as
// ids can be foreseen; places need a better one: see riddle.go.
func (g *guest) trust() {
	if !g.peer.Proven() && g.peer.Answered() {
		g.peer.Prove()
	}
}

// strangers are the guests without a game, from the one that said nothing for longest on. The zero
// value is empty.
type strangers struct {
	first, last *guest
	count       int
	unproven    int // of these
}

// add puts a guest at the end, if it is not in the list.
func (s *strangers) add(g *guest) {
	if g.listed {
		return
	}
	g.listed, g.prev = true, s.last
	if s.last == nil {
		s.first = g
	} else {
		s.last.next = g
	}
	s.last = g
	s.count++
	if !g.proven {
		s.unproven++
	}
}

// renew puts a guest at the end, if it is in the list.
func (s *strangers) renew(g *guest) {
	if g.listed {
		s.remove(g)
		s.add(g)
	}
}

// remove takes a guest out, if it is in the list.
func (s *strangers) remove(g *guest) {
	if !g.listed {
		return
	}
	if g.prev == nil {
		s.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		s.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.listed, g.prev, g.next = false, nil, nil
	s.count--
	if !g.proven {
		s.unproven--
	}
}
