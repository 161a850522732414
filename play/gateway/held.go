package gateway

import (
	"bytes"
	"time"

	"parley/world"
)

// heldInput is an input for a tick that the world has yet to come to. Realm's clients count ticks by
// the clock; while the world is behind it, what they do now is ahead of the world.
type heldInput struct {
	request
	since time.Time
}

// hold keeps an input for its tick, so that its effect is the one that the player meant: steered a
// second too early, an entity would go a second too far.
func (r *Room) hold(q *request) {
	r.hub.stats.HeldInput++
	s := q.seat
	switch len(s.held) {
	case 0:
		r.holders = append(r.holders, s)
	case maxHeld:
		r.hasten(&s.held[0].request)
		s.held = append(s.held[:0], s.held[1:]...)
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
			case in.tick <= r.sim.Tick()+world.MaxAhead:
				r.handle(&in.request)
			case r.now.Sub(in.since) >= holdTime:
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
	r.hub.stats.HastenedInput++
	q.tick = 0
	r.handle(q)
}
