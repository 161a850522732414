package connector

import (
	"net/netip"
	"slices"
	"time"

	"parley/protocol/relay/core"
)

// "There are no challenges", and the clients of the game answer none. But their library confirms every reliable package that
// comes within 1,024 of the next one, whatever it holds, and repeats too. So an address is proven by a riddle: it is sent
// three empty packages under ids that nobody can guess who does not receive them, and who confirms these three and no
// others does. The ids are passed over later (core.Expect), so that nothing else changes.
//
// A riddle is asked only when an address that proved nothing would cost too much: see mustProve and Config. A guest has its own;
// one that is no guest is asked without anything being kept of it.

// riddle returns the ids of an address at a port, ascending, from base on. They are the same whenever it is asked, so that nobody
// has got an id that we then use for something else.
func (l *Lobby) riddle(port uint16, addr netip.AddrPort, base uint64) (ids [3]uint64) {
	bits := l.secret.Clock(addr, uint32(port))
	for i := range ids {
		id := base + 1 + bits%riddleSpan
		for slices.Contains(ids[:i], id) {
			id = base + 1 + (id-base)%riddleSpan
		}
		ids[i] = id
		bits /= riddleSpan
	}
	slices.Sort(ids[:])
	return ids
}

// ask asks an address that is a guest.
func (l *Lobby) ask(now time.Time, g *guest) {
	if g.proven || now.Sub(g.asked) < askAgain {
		return
	}
	p := g.peer
	ids, ok := core.Expects(p)
	if !ok || ids[2] < core.NextID(p) {
		ids = l.riddle(p.Port().Number(), p.Addr(), core.NextID(p))
	}
	core.Expect(p, ids, true)
	if g.firstAsked.IsZero() {
		g.firstAsked = now
	}
	g.asked = now
	l.sendRiddle(p.Port(), p.Addr(), ids)
}

// askStranger asks an address of which nothing is kept.
func (l *Lobby) askStranger(port *core.Port, addr netip.AddrPort) {
	l.asksStrangers = true
	ids, _ := l.strangersRiddle(port, addr)
	l.sendRiddle(port, addr, ids)
}

// strangersRiddle returns the riddle of an address of which nothing is kept but, perhaps, how far it had come; and the next id to
// it.
func (l *Lobby) strangersRiddle(port *core.Port, addr netip.AddrPort) (ids [3]uint64, next uint64) {
	was := l.Resume(port, addr)
	if was.Got[0] > was.Send {
		return was.Got, was.Send
	}
	return l.riddle(port.Number(), addr, was.Send), was.Send
}

func (l *Lobby) sendRiddle(port *core.Port, addr netip.AddrPort, ids [3]uint64) {
	l.stats.Asked++
	for _, id := range ids {
		port.SendEmpty(addr, id)
	}
}

// Confirmed takes the answer to a riddle: a confirmation of its three ids, and of no id that was not sent. All three come in one
// confirmation, as they were sent at once and clients gather their confirmations.
func (l *Lobby) Confirmed(now time.Time, port *core.Port, from netip.AddrPort, ids []byte) (any, bool) {
	l.tell(now)
	m, _ := port.Value.(*match)
	p := port.Peer(from)
	if p == nil {
		want, next := l.strangersRiddle(port, from)
		if !l.asksStrangers || l.down || m != nil && m.over || !solves(want, next, ids) {
			return nil, false
		}
		l.stats.Proven++
		g := newGuest(now, m)
		g.proven = true
		g.back = m != nil && slices.Contains(m.lost, from)
		return g, true
	}
	want, ok := core.Expects(p)
	if g := p.Seat.(*guest); ok && !g.proven && solves(want, core.NextID(p), ids) {
		l.stats.Proven++
		l.vouch(g)
	}
	return nil, false
}

// solves reports whether a confirmation has all ids that are wanted, and no other from next on.
func solves(want [3]uint64, next uint64, ids []byte) bool {
	got := 0
	walk := core.ReadIDs(ids)
	for id, ok := walk.Next(); ok; id, ok = walk.Next() {
		i := slices.IndexFunc(want[:], func(w uint64) bool { return uint32(w)&core.MaxID == id })
		switch {
		case i >= 0:
			got |= 1 << i
		case (id-uint32(next))&core.MaxID <= riddleSpan:
			return false // a guess
		}
	}
	return got == 1<<len(want)-1
}

// vouch notes that a guest is proven, at all ports: it is one address.
func (l *Lobby) vouch(g *guest) {
	addr := g.peer.Addr()
	for _, port := range []*core.Port{l.main, g.peer.Port(), l.portOf(addr)} {
		if port == nil {
			continue
		}
		if p := port.Peer(addr); p != nil {
			l.prove(p.Seat.(*guest))
		}
	}
	if c, ok := l.clients[addr]; ok && !c.proven {
		c.proven = true
		l.clients[addr] = c
		l.unprovenSeats--
		c.match.vouch()
	}
}

// portOf returns the port of the game that an address plays at.
func (l *Lobby) portOf(addr netip.AddrPort) *core.Port {
	if c, ok := l.clients[addr]; ok {
		return c.match.port
	}
	return nil
}

// prove notes that one guest is.
func (l *Lobby) prove(g *guest) {
	if g.proven {
		return
	}
	g.proven = true
	g.peer.Prove()
	if g.listed {
		l.strangers.unproven--
	}
}

// isProven reports whether an address is proven by what is known of it elsewhere. A datagram with a loopback address comes from this
// machine: systems drop others. A private address may be forged by anybody in the same network. That it was proven once is
// nothing: whoever had it then may be gone, and anybody may forge it.
func (l *Lobby) isProven(addr netip.AddrPort) bool {
	return addr.Addr().IsLoopback() || l.clients[addr].proven
}

// mustProve reports whether what a package asks for has to wait for a proof, and asks for it: because those that proved nothing hold as
// much as they may, or because one of them may have the last seat of a game.
func (l *Lobby) mustProve(now time.Time, g *guest, o *order) bool {
	if _, plays := l.clients[g.peer.Addr()]; plays || o[askOpen]+o[askJoin] == 0 {
		return false // who plays is refused anyway
	}
	waits := false
	switch {
	case o[askJoin] > 0 && g.match.isContested():
		g.match.joiners(func(other *guest) { l.ask(now, other) })
		waits = !g.proven || g.match.squatter(now) == nil
	case g.proven:
	case o[askOpen] > 0:
		waits = l.unprovenGames >= l.cfg.unprovenGames() || !l.mayOpen(now, g)
	default:
		waits = l.unprovenSeats >= l.cfg.unprovenSeats()
	}
	if waits {
		l.ask(now, g)
	}
	return waits
}

// watchDebt looks at a player who is about to be sent more. One that proved nothing and confirms little is asked to prove itself, and
// removed when too much waits for it.
func (l *Lobby) watchDebt(g *guest) {
	g.trust()
	if g.proven {
		return
	}
	waits := g.peer.Unconfirmed()
	if waits > unprovenPackages/2 {
		l.ask(l.start.Add(l.at), g)
	}
	if waits > unprovenPackages && !g.firstAsked.IsZero() && l.start.Add(l.at).Sub(g.firstAsked) >= proveWithin {
		g.peer.Remove(core.Close{Reason: core.ReasonSlow})
	}
}
