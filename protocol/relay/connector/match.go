package connector

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"parley/protocol/relay/core"
)

// match is a game at its port: it carries what the rules decide to the peers there, and the
// packages of players to the others.
type match struct {
	lobby *Lobby
	game  *game
	port  *core.Port
	room  *core.Room // of the players who were told that they are
	index int        // in Lobby.matches
	over  bool       // without players; waits for its last messages to be confirmed

	vouched  bool // somebody who is proven has played it
	born     time.Time
	packages int // that came from players: how long its conversation is

	lost []netip.AddrPort // players who were, the newest last

	flush    *core.Timer // of groups
	flushAt  time.Time   // when it goes off; zero while it is not set
	announce *core.Timer
	close    *core.Timer
}

// newMatch opens a port and has a game there. It returns nil if there is no port to be had.
func newMatch(now time.Time, l *Lobby, mux *core.Mux, seats int, opener netip.AddrPort) *match {
	port, err := mux.Open()
	if err != nil {
		return nil
	}
	m := &match{
		lobby: l, port: port, born: now, room: mux.NewRoom(), index: len(l.matches),
		game: newGame(seats, opener, &l.stats.Game),
	}
	port.Value = m
	m.flush = port.NewTimer(m.flushGroups)
	m.close = port.NewTimer(m.closePort)
	m.announce = port.NewTimer(m.announceOpener)
	m.announce.Set(now.Add(announceAfter))
	l.matches = append(l.matches, m)
	return m
}

// receive takes messages to the game.
func (m *match) receive(now time.Time, g *guest, pkg *core.Package) {
	l := m.lobby
	addr, mode := g.peer.Addr(), l.mode(g, pkg.Mode)
	m.packages++
	for msgs := Read(pkg.Payload); msgs.Next(&l.toGame) && !m.over; {
		if l.toGame.Kind == ToGameJoin && g.proven {
			m.makeRoom(now, addr)
		}
		if l.toGame.Kind != ToGamePing {
			// Messages that were sent before reach the players of that time, and before they
			// hear of the change.
			m.flushAll()
		}
		other := l.clients[addr].match
		_, was := m.game.player(addr)
		m.game.handle(addr, mode, &l.toGame, other != nil && other != m)
		_, is := m.game.player(addr)
		m.deliver()
		switch {
		case is && !was:
			m.enter(g)
			m.askJoiners(now)
		case was && !is:
			m.exit(now, g, core.Close{Reason: core.ReasonLeft})
		}
	}
}

// relay takes messages of a player to the others.
func (m *match) relay(now time.Time, g *guest, pkg *core.Package) {
	l := m.lobby
	number, isPlayer := m.game.player(g.peer.Addr())
	if !isPlayer {
		l.stats.NotJoined++
		m.game.notJoined(g.peer.Addr(), l.mode(g, pkg.Mode))
		m.deliver()
		return
	}
	l.stats.Relayed++
	m.packages++
	for i := range len(l.cuts) - 1 {
		l.stats.Messages++
		b := appendUint(l.payload[:0], uint64(number))
		b = append(b, pkg.Payload[l.cuts[i]:l.cuts[i+1]]...)
		for p := range m.room.All() {
			if to := p.Seat.(*guest); to != g {
				m.groupsOf(to).push(now, pkg.Mode, b)
			}
		}
	}
	for p := range m.room.All() {
		if to := p.Seat.(*guest); to.waiting != nil {
			m.schedule(to.waiting)
		}
	}
}

// takes reports whether a reliable package of a player to the others is taken now. Each may send a little whatever the others do; more only
// while nobody is behind, and not much of it behind a missing one: a player is not removed for what another sends.
func (m *match) takes(at time.Duration, g *guest, pkg *core.Package) bool {
	left := 1
	if !core.IsNext(g.peer, pkg.ID) {
		if core.Held(g.peer) > aheadBytes {
			return false
		}
		left = ownShare.burst / 2 // the rest is for the oldest one, whose tries its sender counts
	}
	for p := range m.room.All() {
		if p == g.peer || !p.Seat.(*guest).isBehind() {
			continue
		}
		if !g.share.has(at, left, ownShare) {
			return false
		}
		g.share.take(at, 1, ownShare)
		break
	}
	return true
}

// groupsOf returns what waits for a player, which is made for the first message to it.
func (m *match) groupsOf(g *guest) *groups {
	if g.waiting == nil {
		g.waiting = newGroups(func(mode core.Mode, payload []byte) { m.pass(g, mode, payload) })
	}
	return g.waiting
}

// pass sends a package of messages to a player.
func (m *match) pass(g *guest, mode core.Mode, payload []byte) {
	m.lobby.watchDebt(g)
	if core.Pass(g.peer, mode, payload) == core.ErrBacklogFull {
		g.peer.Remove(core.Close{Reason: core.ReasonSlow})
	}
}

// schedule has the groups flushed in time.
func (m *match) schedule(g *groups) {
	at, ok := g.nextTimeout()
	if ok && (m.flushAt.IsZero() || at.Before(m.flushAt)) {
		m.flushAt = at
		m.flush.Set(at)
	}
}

// flushGroups sends what has waited for long enough.
func (m *match) flushGroups(now time.Time) {
	m.flushAt = time.Time{}
	for p := range m.room.All() {
		if g := p.Seat.(*guest).waiting; g != nil {
			g.handleTimeout(now)
			m.schedule(g)
		}
	}
}

// flushAll sends all that waits, before the players change.
func (m *match) flushAll() {
	for p := range m.room.All() {
		if g := p.Seat.(*guest).waiting; g != nil {
			g.flushAll()
		}
	}
	m.flushAt = time.Time{}
	m.flush.Stop()
}

// announceOpener tells the opener that it has joined. It may not have come to this port yet.
func (m *match) announceOpener(now time.Time) {
	m.lobby.tell(now)
	opener := m.game.seats[0]
	if !opener.taken || !opener.waits {
		return
	}
	// It may have been here in another game, and remember that.
	owes := m.port.Peer(opener.addr) == nil && m.lobby.owesProof(m.port.Number(), opener.addr)
	if owes && now.Sub(m.born) < proveWithin {
		m.lobby.askStranger(m.port, opener.addr)
		m.announce.Set(now.Add(2 * askAgain))
		return
	}
	m.flushAll()
	g := newGuest(now, m)
	g.proven = m.lobby.isProven(opener.addr)
	var p *core.Peer
	if !owes {
		p = m.port.Invite(opener.addr, g)
	}
	if p == nil { // it does not answer, or too many are known
		m.game.leave(0, false)
		m.lobby.free(opener.addr)
		m.deliver()
		m.closeIfEmpty(now)
		return
	}
	if g = p.Seat.(*guest); g.peer == nil {
		m.lobby.seat(g, p)
	}
	m.game.announce()
	m.deliver()
	m.enter(g)
}

// deliver sends what the rules had to say. Players that are not at the port are sent nothing there.
func (m *match) deliver() {
	for i := range m.game.out {
		s := &m.game.out[i]
		if p := m.port.Peer(s.to); p != nil {
			m.lobby.answer(p.Seat.(*guest), s.mode, &s.msg)
		}
	}
	m.game.out = m.game.out[:0]
}

// enter notes a new player: from now on it gets what the others send.
func (m *match) enter(g *guest) {
	m.lobby.take(g.peer.Addr(), m, g.proven)
	m.lobby.strangers.remove(g)
	m.room.Add(g.peer)
	number, _ := m.game.player(g.peer.Addr())
	g.peer.Name = fmt.Sprintf("player %d at port %d", number, m.port.Number()) // for the log
	g.peer.Join()
}

// exit notes that a player is one no more. It is still known, as it may join again under the ids
// that it has come to.
func (m *match) exit(now time.Time, g *guest, why core.Close) {
	m.room.Remove(g.peer)
	g.peer.Leave(why)
	m.lobby.free(g.peer.Addr())
	m.lobby.strange(g)
	m.closeIfEmpty(now)
}

// vouch notes that somebody who is proven plays the game.
func (m *match) vouch() {
	if !m.vouched {
		m.vouched = true
		m.lobby.unprovenGames--
	}
}

// joiners calls a function for each player but the first seat's who proved nothing.
func (m *match) joiners(do func(g *guest)) {
	for i := 1; i < len(m.game.seats); i++ {
		s := &m.game.seats[i]
		if !s.taken || m.lobby.clients[s.addr].proven {
			continue
		}
		if p := m.port.Peer(s.addr); p != nil {
			do(p.Seat.(*guest))
		}
	}
}

// askJoiners asks players who joined to prove themselves, once two have not done so. An attacker who knows the port of a game can fill it
// with forged players, who then make room.
func (m *match) askJoiners(now time.Time) {
	count := 0
	m.joiners(func(*guest) { count++ })
	if count > 1 {
		m.joiners(func(g *guest) { m.lobby.ask(now, g) })
	}
}

// squatter returns the player who has not proven itself although it was asked long enough ago: of several the one with the
// shortest conversation.
func (m *match) squatter(now time.Time) (least *guest) {
	m.joiners(func(g *guest) {
		asked := !g.firstAsked.IsZero() && now.Sub(g.firstAsked) >= proveWithin
		if asked && (least == nil || g.packages < least.packages) {
			least = g
		}
	})
	return least
}

// isContested reports whether the game is full, and might not be if everybody had to be proven. A newcomer is then told nothing until it
// is clear whether there is room for it: the game's own client takes GameFull for the end.
func (m *match) isContested() bool {
	unproven := false
	if m.game.open() && m.game.count == len(m.game.seats) {
		m.joiners(func(*guest) { unproven = true })
	}
	return unproven
}

// makeRoom has a player who proved nothing leave, for one who is proven and wants to join a full game.
func (m *match) makeRoom(now time.Time, newcomer netip.AddrPort) {
	if _, isPlayer := m.game.player(newcomer); isPlayer || m.lobby.clients[newcomer].match != nil || !m.isContested() {
		return
	}
	least := m.squatter(now)
	if least == nil {
		return
	}
	m.lobby.stats.Displaced++
	m.remove(now, least, core.Close{Reason: core.ReasonClosed, Text: "unproven"})
}

// remove has a player leave.
func (m *match) remove(now time.Time, g *guest, why core.Close) {
	number, _ := m.game.player(g.peer.Addr())
	m.flushAll()
	m.game.leave(number, true)
	m.deliver()
	m.exit(now, g, why)
}

// isBack reports whether a stranger's first package is that of a player who was lost. One that
// begins at id 0 is somebody new.
func (m *match) isBack(from netip.AddrPort, first *core.Package) bool {
	return slices.Contains(m.lost, from) && !(first.Mode.Reliable() && first.ID == 0)
}

// removeIdle has players leave who said nothing for too long.
func (m *match) removeIdle(now time.Time) {
	for i := range m.game.seats {
		if m.over || !m.game.seats[i].taken {
			continue
		}
		p := m.port.Peer(m.game.seats[i].addr)
		if p == nil || now.Sub(p.Seat.(*guest).said) < playerIdle {
			continue
		}
		m.lobby.stats.Idle++
		m.remove(now, p.Seat.(*guest), core.Close{Reason: core.ReasonSilent})
	}
}

// gone has a guest that is no more leave the game.
func (m *match) gone(now time.Time, g *guest, why core.Close) {
	if number, isPlayer := m.game.player(g.peer.Addr()); isPlayer && !m.over {
		m.flushAll()
		m.game.leave(number, false)
		m.lobby.free(g.peer.Addr())
		m.deliver()
		if why.Reason != core.ReasonLeft {
			m.lost = append(m.lost, g.peer.Addr())
			m.lost = m.lost[max(len(m.lost)-maxLost, 0):]
		}
		m.closeIfEmpty(now)
	}
	if m.over && m.port.Len() <= 1 {
		m.close.Set(now) // it was the last
	}
}

// closeIfEmpty ends a match without players: "A game without players closes." Its port stays for a
// while: its last messages may have to be resent, and if the confirmation of a Leave was lost, the client sends that again and
// waits for it. A server that closes does not wait for long.
func (m *match) closeIfEmpty(now time.Time) {
	if m.game.count > 0 || m.over {
		return
	}
	m.over = true
	if !m.lobby.down {
		m.close.Set(now.Add(m.lobby.cfg.linger))
		return
	}
	m.close.Set(now.Add(dismissWithin))
	for p := range m.port.Peers() {
		p.Close("the game is over")
	}
}

// dismiss ends the match, even while players are in it. Players are told in a mode.
func (m *match) dismiss(now time.Time, mode core.Mode) {
	if m.over {
		return
	}
	m.flushAll()
	m.game.dismiss(mode)
	for i := range m.game.out {
		addr := m.game.out[i].to
		m.lobby.free(addr)
		if p := m.port.Peer(addr); p != nil {
			m.room.Remove(p)
			p.Leave(core.Close{Reason: core.ReasonClosed, Text: "server closing"})
		}
	}
	m.deliver()
	m.closeIfEmpty(now)
}

// closePort ends it all.
func (m *match) closePort(time.Time) {
	l := m.lobby
	last := l.matches[len(l.matches)-1]
	l.matches[m.index], last.index = last, m.index
	l.matches[len(l.matches)-1] = nil
	l.matches = l.matches[:len(l.matches)-1]
	l.stats.Closed++
	if !m.vouched {
		l.unprovenGames--
	}
	m.port.Close()
}
