package connector

import (
	"time"

	"parley/protocol/relay"
)

// guest is what the lobby keeps of an address at one of its ports: it is the Seat of a peer.
type guest struct {
	peer  *relay.Peer
	match *match // of the port; nil at the main port

	// What it may still ask, and when it was last given more: see maxAsked.
	asks    int
	askedAt time.Time

	bad      int // payloads that were no messages
	badSince time.Time

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
	return &guest{match: m, asks: maxAsked, askedAt: now, said: now}
}

// mayAsk reports whether one more message of the guest to the server has its effect.
func (g *guest) mayAsk(now time.Time) bool {
	if more := int(now.Sub(g.askedAt) / askEvery); more > 0 {
		g.asks = min(g.asks+more, maxAsked)
		g.askedAt = g.askedAt.Add(time.Duration(more) * askEvery)
	}
	if g.asks == 0 {
		return false
	}
	g.asks--
	return true
}

// misbehaves notes a payload that is no messages and reports whether it was one too many.
func (g *guest) misbehaves(now time.Time) bool {
	if g.bad == 0 || now.Sub(g.badSince) >= badSpan {
		g.bad, g.badSince = 0, now
	}
	g.bad++
	return g.bad >= maxBad
}

// mode is that of an answer to what came in a mode.
func (g *guest) mode(of relay.Mode) relay.Mode {
	if g.back {
		return relay.Unreliable
	}
	return of
}

// prove takes an address for real once it has confirmed something that was sent to it. It is a
// weak proof, as ids can be foreseen, but "there are no challenges": see doc.go.
func (g *guest) prove() {
	if !g.peer.Proven() && g.peer.Answered() {
		g.peer.Prove()
	}
}

// strangers are the guests without a game, from the one that said nothing for longest on. The zero
// value is empty.
type strangers struct {
	first, last *guest
	count       int
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
}
