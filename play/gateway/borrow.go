package gateway

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"parley/world"
)

// View calls fn with the world of a room between two ticks, on the caller's goroutine. The room waits for it, and no other
// does. In fn, methods that wait for the hub return ErrPlaying. fn must not change the world, or keep it.
func (h *Hub) View(name string, fn func(*world.World)) error {
	if h.together != nil {
		if err := h.Bring(name); err != nil {
			return err
		}
	}
	lent := make(chan *Room, 1)
	if _, err := h.post(func() { h.lend(name, lent) }); err != nil {
		return err
	}
	var r *Room
	select {
	case r = <-lent:
	case <-h.over:
		return ErrEnded
	}
	if r == nil {
		return fmt.Errorf("%w: %s", ErrNoRoom, name)
	}
	defer h.post(r.handedBack)
	id := goroutine()
	h.workers.ids.Store(id, true)
	defer h.workers.ids.Delete(id)
	fn(r.sim.World())
	return nil
}

// lend gives a room to somebody who wants to look at it: now, or when it is quiet and had the tick that is due.
func (h *Hub) lend(name string, to chan *Room) {
	r := h.rooms[name]
	if r == nil {
		to <- nil
		return
	}
	r.viewers = append(r.viewers, to)
	if !r.isDue() {
		r.lendNext()
	}
}

// lendNext gives the room to the first who wants to look at it.
func (r *Room) lendNext() {
	if len(r.viewers) == 0 || !r.quiet() {
		return
	}
	r.lent, r.state = r.state, roomStepping
	r.viewers[0] <- r
	r.viewers = slices.Delete(r.viewers, 0, 1)
}

// isDue reports whether the room is to have a tick before anybody looks at it again: else those who look without end would stop it.
func (r *Room) isDue() bool {
	return r.state == roomQuiet && !r.hub.now.IsZero() && !time.Now().Before(r.next)
}

// handedBack takes a room back that was lent.
func (r *Room) handedBack() {
	if r.state == roomEnded { // meanwhile
		r.conclude(nil)
		return
	}
	r.state = r.lent
	r.catchUp()
	if r.shared != nil {
		r.shared.next()
	}
	if !r.isDue() {
		r.lendNext()
	}
}

// Inject submits an action of the world itself to a room, at its next tick: see world.Sim.Inject. A room that sleeps wakes up for it. The
// error is ErrTooMany if the room has too many that wait. Call it in Do.
func (r *Room) Inject(action any) error {
	switch {
	case r.sim.Schema().ActionOf(action) == nil:
		return fmt.Errorf("%w: %T: add it to Game.Actions", world.ErrNoAction, action)
	case r.injected >= maxInjected:
		return fmt.Errorf("%w: room %s has %d", world.ErrTooMany, r.Name(), r.injected)
	}
	r.injected++
	r.do(func() { r.inject(action) })
	return nil
}

// inject submits an action, or keeps it for the next tick if this one has no room.
func (r *Room) inject(action any) {
	if r.state == roomEnded {
		return
	}
	if r.shared != nil {
		if waits, full := r.shared.wait(false, func() { r.inject(action) }); !waits {
			full = r.shared.inject(action) != nil
			if !full {
				return
			}
		} else if !full {
			return
		}
		r.injected--
		return
	}
	r.wake()
	if err := r.sim.Inject(action); err != nil { // the entry is full, or the tick has as many as it takes
		r.later = append(r.later, func() { r.inject(action) })
		return
	}
	r.injected--
}

// ChatLine is what a player wants to say.
type ChatLine struct {
	Room    string
	Player  world.PlayerID
	Name    string
	Dialect string
	Text    string
}

// edit has Config.Chat change a line, or drop it.
func (r *Room) edit(s *Seat, text []byte) (_ []byte, ok bool) {
	chat := r.hub.cfg.Chat
	if chat == nil {
		return text, true
	}
	defer func() {
		if why := recover(); why != nil {
			r.hub.log.Error("Config.Chat panicked, and the line is dropped", "room", r.Name(), "player", s.player.ID, "panic", why, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	var said string
	r.hub.play(func() {
		said, ok = chat(ChatLine{r.Name(), s.player.ID, s.player.Name, s.dialect.Name(), string(text)})
	})
	if ok && !isLine([]byte(said)) {
		r.hub.log.Warn("Config.Chat made a line that is empty, over 512 bytes or not UTF-8, and the line is dropped", "room", r.Name(), "player", s.player.ID)
		ok = false
	}
	return []byte(said), ok
}
