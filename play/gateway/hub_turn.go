package gateway

import (
	"context"
	"time"
)

// schedule gives a room ticks: the first of them at a time at which few others have theirs, so that ticks are spread over the
// period. Rooms share a few such times, as each visit to the dialects' loops costs more than a room.
func (h *Hub) schedule(r *Room) {
	h.awake = append(h.awake, r)
	every := h.every()
	slots := int(min(max(every/leastSlot, 1), mostSlots))
	r.slot = 0
	if r != h.main {
		var taken [mostSlots]int
		for _, other := range h.awake[:len(h.awake)-1] {
			taken[other.slot]++
		}
		for i := range slots {
			if taken[i] < taken[r.slot] {
				r.slot = i
			}
		}
	}
	r.offset = every / time.Duration(slots) * time.Duration(r.slot)
	r.next = h.epoch.Add(time.Since(h.epoch).Truncate(every) + every + r.offset)
}

// every is the time from tick to tick.
func (h *Hub) every() time.Duration { return time.Second / time.Duration(h.cfg.TickRate) }

// loop runs ticks at their times.
func (h *Hub) loop(ctx context.Context) error {
	defer close(h.over) // also if a command ends this goroutine
	defer h.hire()()
	defer h.employ()()
	defer h.closeShared()
	h.epoch, h.home = time.Now(), goroutine()
	defer func() { h.home = 0 }()
	for _, r := range h.awake {
		if r.next = h.epoch.Add(h.every() + r.offset); r.shared != nil {
			r.next = h.epoch.Add(far)
			r.shared.next()
		}
	}
	if h.together != nil {
		if err := h.together.begin(); err != nil {
			return err
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := h.wakeAt()
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return nil
		case do := <-h.commands:
			do()
			continue
		case <-h.knock:
			if h.knocked = true; time.Since(h.now) < leastKnock {
				continue
			}
		case r := <-h.workers.done:
			h.returned(r)
		case <-h.notify:
		case <-timer.C:
		}
		if err := h.turn(time.Now()); err != nil {
			return err
		}
	}
}

// wakeAt returns when there is something to do next.
func (h *Hub) wakeAt() time.Time {
	next := h.now.Add(leastTurn) // and not from now: commands that come without end would put it off for ever
	if h.knocked {
		next = h.now.Add(leastKnock)
	}
	for _, r := range h.awake {
		if at := r.next; r.quiet() && at.Before(next) {
			next = at
		} else if at := h.watched.Add(watchEvery); r.state == roomStepping && at.Before(next) {
			next = at
		}
	}
	return next
}

// turn runs the rooms whose tick is due, and tells players of those that are done. It returns an error if the game is over.
func (h *Hub) turn(now time.Time) error {
	h.now, h.due, h.knocked = now, h.due[:0], false
	h.watch(now)
	h.checkKept()
	h.release()
	for _, r := range h.awake {
		if r.quiet() && !now.Before(r.next) {
			r.due, r.now = r.next, now
			if now.Sub(r.next) > h.every()/2 {
				h.stats.LateTicks++
				r.late++
			}
			h.due = append(h.due, r)
		}
	}
	h.take(h.due)
	h.run(h.due)
	h.tell()
	for _, r := range h.ran {
		h.clock(r)
		r.lendNext() // one at least after each tick, also in a room that is behind the clock
	}
	h.ran = h.ran[:0]
	h.rest(now)
	if now.Sub(h.looked) >= h.every()/2 {
		h.looked = now
		h.look()
	}
	return h.lost()
}

// Tick runs one tick of each room: requests, the step, and its results. If the game panics, it returns an error. It is for
// tests without a clock.
func (h *Hub) Tick() error {
	h.release()
	h.due = append(h.due[:0], h.awake...)
	h.take(h.due)
	h.run(h.due)
	h.tell()
	h.ran = h.ran[:0]
	return h.lost()
}

// take does what was asked since the last turn, in the order in which it came at each dialect. Rooms whose tick is due begin
// with what has waited for it.
func (h *Hub) take(due []*Room) {
	for _, refill := range h.refills {
		refill()
	}
	h.settleTickets()
	h.takeDepartures()
	for _, r := range due {
		r.begin()
	}
	for _, r := range h.awake {
		if r.shared != nil {
			r.shared.stands()
		}
	}
	for _, d := range h.dialects {
		list := d.requests().take()
		h.stats.Requests += uint64(len(list))
		for i := range list {
			h.handle(&list[i])
		}
	}
}

// handle does what a connection asks for: to be let in, or something of its room.
func (h *Hub) handle(q *request) {
	s := q.seat
	switch r := s.room; {
	case q.ask == askConsider:
		s.pass = q.pass
		h.consider(s)
	case q.ask == askEnter:
		h.enter(s, q.name)
	case r == nil && q.ask == askLeave:
		s.left = true
	case r == nil:
		h.stats.EarlyInput++
	case q.ask > askLeave && s.handled >= maxRequests:
		h.stats.DroppedInput++
	case r.quiet(), r.state == roomEnded:
		s.handled++
		r.handle(q)
	default:
		s.handled++
		r.keepForLater(q)
	}
}

// tell has all dialects publish what has run, and say to those who are not let in why.
func (h *Hub) tell() {
	if len(h.ran)+len(h.refused)+len(h.welcomed)+len(h.answered)+len(h.leaving) == 0 {
		return
	}
	h.visits[len(h.visits)-1]()
	for _, r := range h.ran {
		r.told()
	}
}

// clock sets the time of a room's next tick.
func (h *Hub) clock(r *Room) {
	every := h.every()
	took := time.Since(r.now)
	h.stats.LastTick = took
	h.stats.LongestTick = max(h.stats.LongestTick, took)
	h.stats.TickTimes.add(took)
	h.stats.TickSeconds.Add(took)
	r.times.add(took)
	if r.lately == nil {
		r.lately = &lately{}
	}
	r.lately.add(took)
	if r.shared != nil { // its ticks are when the log has them
		return
	}
	r.next = r.next.Add(every)
	if r.behind = time.Since(r.next); r.behind > mostBehind {
		skipped := (r.behind - mostBehind/2) / every
		r.skipped += uint64(skipped)
		r.unsaid += uint64(skipped)
		h.stats.SkippedTicks += uint64(skipped)
		r.next = r.next.Add(skipped * every)
		r.behind -= skipped * every
		h.log.Warn("the world is far behind the clock, and lets ticks go", "room", r.Name(), "ticks", int64(skipped))
	}
	if r.behind <= shedBehind {
		r.found = time.Time{}
	} else if r.found.IsZero() {
		r.found = time.Now()
	}
}
