package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Open opens a room. Call it in Do, or before Run.
func (h *Hub) Open(s Settings) (*Room, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	most := h.cfg.MaxRooms
	if s.Match || s.ByPlayers {
		most -= most / operatorShare
	}
	switch {
	case h.rooms[s.Name] != nil:
		return nil, fmt.Errorf("%w: %s", ErrRoomThere, s.Name)
	case len(h.rooms) >= most:
		return nil, fmt.Errorf("%w: %d", ErrRooms, most)
	}
	r, err := h.newRoom(s)
	if err != nil {
		return nil, err
	}
	h.rooms[s.Name] = r
	r.state, r.empty = roomAsleep, time.Now()
	return r, nil
}

// CloseRoom ends a room, its players told. The main room stays. Call it in Do.
func (h *Hub) CloseRoom(name string) error {
	r := h.rooms[name]
	switch {
	case r == nil:
		return fmt.Errorf("%w: %s", ErrNoRoom, name)
	case r == h.main:
		return ErrMainRoom
	}
	h.end(r, errRoomClosed)
	return nil
}

// What players are told whose room ends.
var (
	errRoomClosed = errors.New("the room was closed")
	errRoomBroke  = errors.New("the room has ended: its game failed")
)

// Room returns the room of a name, nil if there is none. Call it in Do.
func (h *Hub) Room(name string) *Room { return h.rooms[name] }

// Rooms returns all rooms, by name. Call it in Do.
func (h *Hub) Rooms() []*Room {
	list := make([]*Room, 0, len(h.rooms))
	for _, r := range h.rooms {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Room) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// end takes a room from the hub. Its players are told with the next visit. Its world is not touched any more: a worker may
// still have it.
func (h *Hub) end(r *Room, why error) {
	if r.state != roomStepping {
		st := r.sim.Stats()
		h.past.Add(&st)
	}
	if r.kept != nil {
		if r.over != nil {
			r.putAside(r.over)
		} else {
			r.kept.End(why == errRoomClosed) // what is left of a room that failed is for people to look at
		}
	}
	switch {
	case why != errRoomClosed && r.over == nil:
		r.conclude(ErrFailed)
	case r.state != roomStepping:
		r.conclude(nil)
	default: // when whoever has its world is done with it
	}
	if r.shared != nil {
		r.shared.close()
	}
	working := !r.quiet() && r.fate.Load() != stepGivenUp
	r.state, r.why = roomEnded, why
	delete(h.rooms, r.Name())
	if i := slices.Index(h.awake, r); i >= 0 {
		h.awake = slices.Delete(h.awake, i, i+1)
	}
	h.leaving = append(h.leaving, r)
	if r == h.main {
		switch h.failed = why; {
		case h.together != nil && (r.over != nil || why == errRoomClosed):
			h.failed = nil
			h.together.mainAgain(r)
		case r.over != nil:
			h.failed = h.openMainAgain(r)
		case why == errStopped: // it runs elsewhere, and so do its players: this server stays a node of the cluster
			h.failed = nil
		}
	} else if h.together != nil && r.over != nil {
		h.together.ended(r)
	}
	later := r.later
	r.later = nil
	for _, fn := range later { // who waits for the room to be quiet is not kept waiting
		fn()
	}
	for _, to := range r.viewers {
		h.lend(r.Name(), to) // there may be another of its name
	}
	r.viewers = nil
	if r.shared != nil && !working { // else when the worker is done
		r.shared.letGo()
	}
	r.giveUp()
}

// giveUp gives back what the players of a room that has ended had: their tokens, and their places in the game and at their
// addresses.
func (r *Room) giveUp() {
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			if s.counted {
				s.counted = false
				r.hub.crowd.Leave(s.from)
			}
		}
	}
	for _, p := range r.players {
		for _, t := range p.tokens {
			delete(r.hub.sessions, t)
		}
		if p.counted {
			r.hub.crowd.Leave(p.from)
		}
	}
	r.hub.players -= len(r.players)
	r.players = nil
}

// dismiss tells those who are not let in why, and the players of rooms that have ended. It is called while all loops stand
// still.
func (h *Hub) dismiss() {
	for i, s := range h.refused {
		if !s.left || isLast(s.kicked) {
			s.own.refuse(s.kicked)
		}
		h.refused[i] = nil
	}
	h.refused = h.refused[:0]
	for i, s := range h.answered {
		if !s.left {
			s.own.(considered).consider()
		}
		h.answered[i] = nil
	}
	h.answered = h.answered[:0]
	var waiting []*Seat
	for i, s := range h.welcomed {
		switch {
		case s.left || s.room.state == roomEnded:
		case s.room.state == roomStepping: // with a later visit
			waiting = append(waiting, s)
		default:
			s.side.open()
			s.own.welcome()
		}
		h.welcomed[i] = nil
	}
	h.welcomed = append(h.welcomed[:0], waiting...)
	for i, r := range h.leaving {
		r.dismiss()
		h.leaving[i] = nil
	}
	h.leaving = h.leaving[:0]
}

// dismiss tells all players of a room that it has ended.
func (r *Room) dismiss() {
	why := errRoomBroke
	switch {
	case r.why == errRoomClosed || r.over != nil:
		why = r.why
	case r.why == errStopped:
		why = errDrained // the room goes on at other servers, and so do they
	}
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			if !s.left {
				s.left = true
				s.own.refuse(why)
			}
		}
		side.seats = nil
		if side.stage != nil {
			side.stage.end()
		}
	}
	r.sides = nil
}

// rest has empty rooms sleep, and ends those that have been empty for long enough.
func (h *Hub) rest(now time.Time) {
	for i := 0; i < len(h.awake); i++ {
		r := h.awake[i]
		if r.state != roomQuiet || !r.isEmpty() || r.shared != nil {
			r.emptyTicks = 0
			continue
		}
		// Its world has seen the last player leave, and holds nothing that it could go back to, or that is to be told once it is final.
		if r.emptyTicks < 2+r.sim.Config().MaxRollbackTicks || !r.sim.Settled() {
			continue
		}
		r.state, r.empty = roomAsleep, now
		r.behind, r.found = 0, time.Time{} // else it would let nobody in who could wake it
		r.sim.Rest()
		h.awake = slices.Delete(h.awake, i, i+1)
		i--
	}
	if now.Sub(h.swept) < time.Second {
		return
	}
	if h.swept = now; h.together != nil {
		h.together.sweep(now)
		return
	}
	for _, r := range h.rooms {
		if r.state == roomAsleep && r.settings.Idle > 0 && now.Sub(r.empty) >= r.settings.Idle {
			h.end(r, errRoomClosed)
		}
	}
}

// lost returns why the game is over: its main room failed, and there is no other.
func (h *Hub) lost() error {
	if len(h.rooms) > 0 {
		return nil
	}
	return h.failed
}

// Degraded returns what is wrong with the rooms, nil if nothing is. Any goroutine may call it.
func (h *Hub) Degraded() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []error{h.wrong}
	for _, name := range slices.Sorted(maps.Keys(h.barred)) {
		list = append(list, h.barred[name].why)
	}
	return errors.Join(list...)
}
