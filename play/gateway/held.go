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
func (h *Hub) hold(r *request) {
	h.stats.HeldInput++
	s := r.seat
	switch len(s.held) {
	case 0:
		h.holders = append(h.holders, s)
	case maxHeld:
		h.hasten(&s.held[0].request)
		s.held = append(s.held[:0], s.held[1:]...)
	}
	in := heldInput{*r, h.now}
	in.line = bytes.Clone(r.line) // the inbox's is good for this tick
	s.held = append(s.held, in)
}

// release submits what the world has come to, and what has waited too long.
func (h *Hub) release() {
	waiting := h.holders[:0]
	for _, s := range h.holders {
		keep := s.held[:0]
		for i := range s.held {
			in := &s.held[i]
			switch {
			case in.tick <= h.sim.Tick()+world.MaxAhead:
				h.handle(&in.request)
			case h.now.Sub(in.since) >= holdTime:
				h.hasten(&in.request)
			default:
				keep = append(keep, *in)
			}
		}
		clear(s.held[len(keep):])
		if s.held = keep; len(keep) > 0 {
			waiting = append(waiting, s)
		}
	}
	clear(h.holders[len(waiting):])
	h.holders = waiting
}

// hasten has an input done in the next tick.
func (h *Hub) hasten(r *request) {
	h.stats.HastenedInput++
	r.tick = 0
	h.handle(r)
}
