package gateway

import (
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
	if r.seat.held >= maxHeld {
		for i := range h.held {
			if h.held[i].seat == r.seat {
				h.hasten(&h.held[i].request)
				h.held = append(h.held[:i], h.held[i+1:]...)
				r.seat.held--
				break
			}
		}
	}
	r.seat.held++
	h.held = append(h.held, heldInput{*r, h.now})
}

// release submits what the world has come to, and what has waited too long.
func (h *Hub) release() {
	if len(h.held) == 0 {
		return
	}
	keep := h.held[:0]
	for i := range h.held {
		in := &h.held[i]
		switch {
		case in.tick <= h.sim.Tick()+world.MaxAhead:
			in.seat.held--
			h.handle(&in.request)
		case h.now.Sub(in.since) >= holdTime:
			in.seat.held--
			h.hasten(&in.request)
		default:
			keep = append(keep, *in)
		}
	}
	clear(h.held[len(keep):])
	h.held = keep
}

// hasten has an input done in the next tick.
func (h *Hub) hasten(r *request) {
	h.stats.HastenedInput++
	r.tick = 0
	h.handle(r)
}
