package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/play/message"
)

// ErrAlone means that a server has no others that have its rooms too.
var ErrAlone = errors.New("parley: this server has no cluster that its players could go on in: call Close")

// drain is what a server is at that is being emptied.
type drain struct {
	addrs map[string][]string // where players are told to go, by what they came over
	turn  int                 // whose turn it is to be told of which address first
}

// DrainedOver lists what Drain asks addresses for: the dialects whose clients are told some, and the carriers of browsers, whatever the dialect.
var DrainedOver = []string{"replica", "relay", "duplex", "ws", "wt"}

// Drain has all players go on at other servers, and returns when none is left. See Server.Drain.
//
// The entries of rooms are made elsewhere first. Then each player is told where to go, and is away a moment later (shared.send): what its
// client sent before it was told is heard until then. The log says when it is away, and its connection is ended with that.
func (h *Hub) Drain(ctx context.Context, elsewhere func(over string) []string) error {
	if h.cfg.Cluster == nil {
		return ErrAlone
	}
	if err := h.Do(func() { h.draining = &drain{} }); err != nil {
		return err
	}
	h.cfg.Cluster.drain()
	pause := time.NewTicker(drainEvery)
	defer pause.Stop()
	for began := time.Now(); ; {
		addrs := map[string][]string{}
		for _, over := range DrainedOver {
			addrs[over] = elsewhere(over)
		}
		left := 0
		err := h.Do(func() {
			h.draining.addrs = addrs
			left = h.drainOn(time.Since(began) < sequencersFirst)
		})
		switch {
		case err != nil:
			return err
		case left == 0:
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("parley: %d connections or requests are left on the server: %w", left, context.Cause(ctx))
		}
	}
}

// drainOn sends some players on, and returns how much is left. wait has it wait for the sequencers of rooms.
func (h *Hub) drainOn(wait bool) (left int) {
	for _, r := range h.rooms {
		if wait && r.shared != nil && (!r.quiet() || r.shared.sequences()) && r.state != roomEnded {
			left++
		}
	}
	if left > 0 {
		return left
	}
	for _, r := range h.rooms {
		if r.shared == nil || r.state == roomEnded {
			continue
		}
		if !r.quiet() {
			left++
			continue
		}
		left += r.entering + r.shared.waits()
		for _, side := range r.sides {
			if side == nil {
				continue
			}
			left += len(side.seats)
		}
		r.sendOn()
	}
	return left
}

// sendOn sends players on who can, a few at a time, and then the spectators.
func (r *Room) sendOn() {
	now, few := time.Now(), movedATurn
	for _, p := range r.Players() {
		s := p.seat
		switch {
		case s == nil || s.kicked != nil:
		case s.moves == nil && few == 0:
		case s.moves == nil:
			few--
			s.moves = &moves{to: r.hub.draining.to(s), since: now}
		case !s.moves.asked && now.Sub(s.moves.since) >= movingGrace:
			s.moves.asked = true
			kind := wishLeave
			if r.hub.hold() > 0 && s.canReturn() {
				kind = wishAway
			}
			r.shared.goes(p.ID, s.since, kind)
		}
	}
	for _, side := range r.sides {
		if side == nil || few < movedATurn {
			continue
		}
		for len(side.seats) > 0 && side.seats[0].player == nil {
			r.sendOff(side.seats[0])
		}
	}
}

// sendOff ends a connection that is nobody's, and its client comes back as of a server that closes.
func (r *Room) sendOff(s *Seat) {
	r.vacate(s)
	s.left, s.kicked = true, errDrained
	r.hub.refused = append(r.hub.refused, s)
	r.unseat(s)
}

// to returns the addresses that a player is told, as text. Each is told another first, so that not all come to one server.
func (d *drain) to(s *Seat) []byte {
	over := s.dialect.Name()
	if s.carrier == "ws" || s.carrier == "wt" {
		over = s.carrier
	}
	list := d.addrs[over]
	if len(list) == 0 || over == "stamp" || over == "realm" {
		return nil
	}
	d.turn++
	at := d.turn % len(list)
	return message.AppendMoved(nil, append(list[at:len(list):len(list)], list[:at]...))
}

// moves is what a player is told who is to go on at another server.
type moves struct {
	to    []byte // addresses; empty if none is known
	since time.Time
	told  bool
	asked bool // that it be away
}

// going returns the addresses that a player is to be told now, nil if none. A dialect calls it in each tick.
func (s *Seat) going() []byte {
	if s.moves == nil || s.moves.told {
		return nil
	}
	s.moves.told = true
	return s.moves.to
}

// errDrained is what a connection is told whose player goes on at another server. Clients that do not know messages of their own for it come
// back as from a server that closes.
const errDrained Refusal = closingLine

// spoken is a line of chat, and the tick whose entry had it.
type spoken struct {
	tick uint64
	Line
}

// speak notes a line for players who are away: see missed.
func (x *shared) speak(tick uint64, l Line) {
	x.room.said = append(x.room.said, l)
	if len(x.spoken) == maxSpoken {
		x.spoken = append(x.spoken[:0], x.spoken[1:]...)
	}
	x.spoken = append(x.spoken, spoken{tick, l})
}

// missed returns the lines that were said while a player was away, those of this tick too. The connection before was told of all ticks
// before the one in which the player went away.
func (x *shared) missed(since uint64) (list []Line) {
	for i := range x.spoken {
		if x.spoken[i].tick >= since {
			list = append(list, x.spoken[i].Line)
		}
	}
	return list
}

// lines returns what a player is to read in this tick.
func (s *Seat) lines() []Line {
	if s.hears == 0 {
		return s.room.said
	}
	since := s.hears - 1
	s.hears = 0
	return s.room.shared.missed(since)
}

// wentAway notes when a player went away.
func (p *Player) wentAway(tick uint64) { p.silent = tick + 1 }

// hears has a connection told what was said while its player was away.
func (p *Player) hears(s *Seat) { s.hears, p.silent = p.silent, 0 }

// waits returns how many requests of this server the log does not have yet.
func (x *shared) waits() int { return len(x.asked) + len(x.unasked) + len(x.posts) }
