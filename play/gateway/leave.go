package gateway

import (
	"slices"
	"time"

	"parley/account"
	"parley/play/message"
)

// leave takes a connection out of the room. Its player leaves too, or is away if its client did not say goodbye and can come
// back.
func (r *Room) leave(s *Seat, goodbye bool) {
	if s.left {
		return
	}
	s.left = true
	goodbye = goodbye && !s.isUnsure()
	p := s.player
	if p == nil && s.entering && r.shared != nil { // what it has asked for waits, and counts for its address until the log has it
		return
	}
	if p == nil || p.seat != s {
		r.vacate(s)
		r.unseat(s)
		return
	}
	if r.shared != nil {
		r.shared.leave(s, goodbye)
		return
	}
	if r.hub.hold() > 0 && !goodbye && s.canReturn() && s.kicked == nil {
		r.goAway(p)
		return
	}
	r.vacate(s)
	p.seat, p.from, p.counted = nil, s.from, s.counted
	s.counted = false
	r.unseat(s)
	r.remove(p)
}

// canReturn reports whether a client has something to come back with: a token that it has acknowledged, or the ticket that it came in by,
// which is good until then. It would be locked out otherwise, as the ticket is spent.
func (s *Seat) canReturn() bool {
	return s.known || s.pass != nil && s.pass.Kind == message.PassTicket
}

// isUnsure reports whether the client may not know that it is back, as it has not acknowledged its new token. While the log of a shared room
// stands still, clients give up such a try and make the next: the goodbye is then that of the connection, and not of the player.
func (s *Seat) isUnsure() bool {
	return s.room != nil && s.room.shared != nil && s.pass != nil && s.pass.Kind == message.PassSession && !s.confirmed
}

// hold is how long a seat is held.
func (h *Hub) hold() time.Duration { return max(h.cfg.Hold, 0) }

// vacate takes a seat out of the room's lists.
func (r *Room) vacate(s *Seat) {
	if s.side != nil {
		if i := slices.Index(s.side.seats, s); i >= 0 {
			s.side.seats = slices.Delete(s.side.seats, i, i+1)
		}
	}
	if s.view != nil {
		s.view.Close()
	}
	if len(s.held) > 0 { // nobody waits for what becomes of it
		s.held = nil
		r.holders = slices.DeleteFunc(r.holders, func(o *Seat) bool { return o == s })
	}
}

// unseat gives back what a seat has taken at its address, and its number.
func (r *Room) unseat(s *Seat) {
	if s.counted {
		s.counted = false
		r.hub.crowd.Leave(s.from)
	}
	r.giveBack(s)
}

// goAway holds the seat of a player whose connection is gone. It still counts for its address.
func (r *Room) goAway(p *Player) {
	s := p.seat
	r.vacate(s)
	p.seat, p.from, p.counted = nil, s.from, s.counted
	s.counted = false
	r.sim.Away(p.ID)
	r.holdSeat(p, r.sim.Tick()+r.ticksOf(r.hub.hold()))
	r.logPlayer("away", p)
}

// endHolds has those leave who have been away for too long.
func (r *Room) endHolds() {
	if r.shared != nil && !r.shared.sequences() {
		return
	}
	for len(r.away) > 0 && r.sim.Tick() >= r.away[0].ends {
		r.remove(r.away[0])
	}
}

// remove takes a player out of the world for good. It has no seat.
func (r *Room) remove(p *Player) {
	if r.shared != nil {
		r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
		at, _ := r.sim.Seat(p.ID) // who comes back before the log has this stays
		r.shared.goes(p.ID, at.Since, wishLeave)
		return
	}
	r.sim.Leave(p.ID)
	r.forget(p)
	r.logPlayer("left", p)
}

// uncount gives back the place at its address of a player who was away.
func (r *Room) uncount(p *Player) {
	if p.counted {
		p.counted = false
		r.hub.crowd.Leave(p.from)
	}
}

// forget is the end of a player who is not in the world any more.
func (r *Room) forget(p *Player) {
	r.uncount(p)
	r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
	for _, t := range p.tokens {
		delete(r.hub.sessions, t)
	}
	if r.shared != nil {
		r.shared.void(p.tokens)
	}
	p.tokens = nil
	delete(r.players, p.ID)
	r.hub.players--
	key := account.NameKey(p.Name)
	if r.names[key]--; r.names[key] == 0 {
		delete(r.names, key)
	}
}
