package gateway

import (
	"net/netip"
	"slices"
	"time"

	"parley/account"
)

// banned is what a player is told who is banned: its value is the operator's reason, or empty.
type banned string

func (b banned) Error() string {
	if b == "" {
		return "banned"
	}
	return "banned: " + string(b)
}

// expelled is what a player is told whom the log of a shared room has leave.
type expelled string

func (e expelled) Error() string { return string(e) }

// isLast reports whether a connection is told why it ends although its seat is gone.
func isLast(why error) bool {
	switch why.(type) {
	case banned, expelled:
		return true
	}
	return why == errResumed || why == errDrained
}

// isBanned reports whether the address of somebody who comes in was banned meanwhile, and counts it. Else its packets would not have
// come so far.
func (h *Hub) isBanned(s *Seat) bool {
	if !s.from.IsValid() || !h.cfg.Banned(time.Now(), s.from) {
		return false
	}
	h.stats.Banned++
	return true
}

// EvictAddress removes the players and spectators of banned addresses from all rooms, also those who are away, and tells them
// `banned: reason`. Their sessions are over. Call it in Do.
func (h *Hub) EvictAddress(reason string, holds func(netip.Addr) bool) {
	for _, r := range h.rooms {
		r.do(func() {
			r.evict(banned(reason), func(p *Player) bool { return p.host().IsValid() && holds(p.host()) })
			if r.state == roomEnded {
				return
			}
			for _, side := range r.sides {
				if side == nil {
					continue
				}
				for _, s := range slices.Clone(side.seats) {
					if s.player == nil && s.kicked == nil && s.from.IsValid() && holds(s.from) {
						r.banish(s, banned(reason))
						r.unseat(s)
					}
				}
			}
		})
	}
}

// EvictAccount removes the player of an account from all rooms, also one who is away, and tells it `banned: reason`. Call it in Do.
func (h *Hub) EvictAccount(reason, name string) {
	key := account.NameKey(name)
	for _, r := range h.rooms {
		r.do(func() {
			r.evict(banned(reason), func(p *Player) bool { return p.account && account.NameKey(p.Name) == key })
		})
	}
}

// host returns the address that a player is at, or was when it went away.
func (p *Player) host() netip.Addr {
	if p.seat != nil {
		return p.seat.from
	}
	return p.from
}

func (r *Room) evict(why banned, match func(*Player) bool) {
	if r.state == roomEnded {
		return
	}
	for _, p := range r.Players() {
		if !match(p) {
			continue
		}
		if x := r.shared; x != nil {
			x.mustAsk(wishKick, p.ID, why.Error())
			if s := p.seat; s != nil {
				r.banish(s, why)
				p.seat = nil
				r.unseat(s)
			}
			x.goes(p.ID, 0, wishLeave)
			continue
		}
		r.sim.Kick(p.ID, []byte(why.Error()))
		r.logPlayer("kicked", p, "reason", why.Error())
		if s := p.seat; s != nil {
			r.banish(s, why)
			p.seat, p.from, p.counted = nil, s.from, s.counted
			s.counted = false
			r.unseat(s)
		}
		r.remove(p)
	}
}

// banish takes the seat of somebody who is banned out of the room. Its connection is told with the next visit. The player does not
// wait for the end of the connection, as a kicked one does: nothing that its client confirms is heard any more.
func (r *Room) banish(s *Seat, why banned) {
	r.vacate(s)
	s.left, s.kicked = true, why
	r.hub.refused = append(r.hub.refused, s)
}

// leaveOthers has an account leave the other rooms in which it is away: it is in one place.
func (r *Room) leaveOthers(p *Player) {
	if !p.account {
		return
	}
	key := account.NameKey(p.Name)
	for _, other := range r.hub.rooms {
		if other == r {
			continue
		}
		other.do(func() {
			for _, o := range slices.Clone(other.away) {
				if o.account && account.NameKey(o.Name) == key && other.state != roomEnded {
					other.remove(o)
				}
			}
		})
	}
}

// logPlayer writes a line about a player: all that an operator needs to find its other lines, and the player.
func (r *Room) logPlayer(what string, p *Player, more ...any) {
	line := make([]any, 0, 16)
	if p.Conn != 0 { // else it has not come back since the server was started
		line = append(line, "conn", p.Conn)
	}
	line = append(line, "player", p.ID, "name", p.Name, "room", r.Name())
	if p.Dialect != "" {
		line = append(line, "proto", p.Dialect)
	}
	if p.Addr.IsValid() {
		line = append(line, "peer", p.Addr)
	}
	r.hub.log.Info(what, append(line, more...)...)
}

// logRefusal writes a line about somebody who is not let in.
func (h *Hub) logRefusal(s *Seat, why error) {
	line := []any{"conn", s.logNumber, "proto", s.dialect.Name(), "peer", s.peer, "reason", why.Error()}
	if s.room != nil {
		line = append(line, "room", s.room.Name())
	}
	h.log.Info("refused", line...)
}
