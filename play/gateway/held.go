package gateway

import (
	"bytes"
	"slices"
	"time"

	"parley/world"
)

// heldInput is an input for a tick that the world has yet to come to. Clients that predict send inputs ahead of the world, and say
// so in a stamp. Realm's count ticks by the clock: while the world is behind it, what they do now is ahead of the world.
type heldInput struct {
	request
	since time.Time
}

// early returns how many ticks before its own an input is given to the world. The fate of one with a stamp is told with each
// tick, so that has to be the tick of the input.
func (q *request) early() uint64 {
	if q.number != 0 {
		return 0
	}
	return world.MaxAhead
}

// hold keeps an input for its tick, so that its effect is the one that the player meant: steered a
// second too early, an entity would go a second too far.
func (r *Room) hold(q *request) {
	s, most := q.seat, maxHeld
	if q.number != 0 {
		most = maxStamped
	} else {
		r.hub.stats.HeldInput++
	}
	switch {
	case len(s.held) == 0:
		r.holders = append(r.holders, s)
	case len(s.held) >= most:
		first := s.held[0].request
		s.held = slices.Delete(s.held, 0, 1)
		r.hasten(&first)
	}
	in := heldInput{*q, r.now}
	in.line = bytes.Clone(q.line) // the inbox's is good for this tick
	s.held = append(s.held, in)
}

// release submits what the world has come to, and what has waited too long.
func (r *Room) release() {
	waiting := r.holders[:0]
	for _, s := range r.holders {
		keep := s.held[:0]
		for i := range s.held {
			in := &s.held[i]
			switch {
			case in.tick <= r.sim.Tick()+in.early():
				r.handle(&in.request)
			case in.number == 0 && r.now.Sub(in.since) >= holdTime: // a stamp has its bound in ticks
				r.hasten(&in.request)
			default:
				keep = append(keep, *in)
			}
		}
		clear(s.held[len(keep):])
		if s.held = keep; len(keep) > 0 {
			waiting = append(waiting, s)
		}
	}
	clear(r.holders[len(waiting):])
	r.holders = waiting
}

// hasten has an input done in the next tick.
func (r *Room) hasten(q *request) {
	if q.number != 0 {
		r.hub.stats.PushedInput++
	} else {
		r.hub.stats.HastenedInput++
	}
	q.tick = 0
	r.handle(q)
}
