package gateway

import (
	"errors"
	"fmt"
	"runtime/debug"

	"parley/world"
)

// begin prepares a tick: what waited for it comes first.
func (r *Room) begin() {
	if r.isEmpty() {
		r.emptyTicks++
	}
	r.release()
	r.endHolds()
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			s.chat.grow(chatRate, r.hub.cfg.TickRate)
			s.terrain.grow(terrainRate, r.hub.cfg.TickRate)
			s.handled = 0
		}
	}
}

// handle does what a seat of the room asks for. The room is quiet, or has ended.
func (r *Room) handle(q *request) {
	s := q.seat
	switch {
	case r.state == roomEnded:
		s.left = s.left || q.ask == askLeave
	case q.ask == askLeave:
		r.leave(s, q.bye)
	case s.player == nil && s.entering && r.shared != nil:
		r.shared.early(s, q)
	case s.player == nil || s.left:
		r.hub.stats.EarlyInput++
	case q.stamped && q.number == 0 && !r.heed(q): // it was done before
	case r.shared == nil && r.sim.Full() && (q.ask == askSteer || q.ask == askAct || q.ask == askSay): // the entry of this tick: it is done in the next
		r.keepForLater(q)
	case q.tick > r.sim.Tick()+q.early():
		r.hold(q)
	case q.ask == askSteer && q.number != 0 && s.stamps.isOvertaken(q):
		r.hub.stats.Overtaken++
		s.did(q.number)
	case r.shared != nil && q.ask == askSteer:
		if q.entity != 0 {
			q.steer.Entity = r.sim.ByWire(q.entity)
		}
		r.shared.steer(s, q)
	case r.shared != nil && q.ask == askAct:
		r.shared.act(s, q)
	case q.ask == askSteer:
		r.came = append(r.came, q.at)
		s.answers = true
		r.steer(s, q)
		s.did(q.number)
	case q.ask == askAct:
		r.came = append(r.came, q.at)
		s.answers = true
		r.judge(s, q.tag, r.sim.ActShown(s.player.ID, r.tickOf(q), q.shown, q.action, q.params[:len(q.action.Fields)], q.tag))
		s.did(q.number)
	case q.ask == askSay:
		if why := r.say(s, q.tag, q.line); why != 0 {
			s.answer(q.tag, why)
		}
	case q.ask == askTerrain:
		r.wants(s, q.place, q.tag)
	case q.ask == askKnown:
		r.knows(s)
	case q.ask == askMembers, q.ask == askVias:
		r.listen(s, q.ask == askVias)
	case q.ask == askCorrect:
		s.view.Refused(r.entityOf(s.player), r.tickOf(q))
	}
}

// tickOf returns the tick that an input is for.
func (r *Room) tickOf(q *request) uint64 {
	if q.tick == 0 || q.number != 0 { // one with a stamp has been held for its tick, or is late
		return r.sim.Tick()
	}
	return q.tick
}

func (r *Room) steer(s *Seat, q *request) {
	if q.entity != 0 {
		q.steer.Entity = r.sim.ByWire(q.entity)
	}
	if why := r.sim.SteerShown(s.player.ID, r.tickOf(q), q.shown, q.steer, q.tag); why.Refused() {
		s.view.Refused(r.entityOf(s.player), r.tickOf(q))
		r.judge(s, 0, why)
	}
}

// judge counts a refusal. What is accepted so far has its result after the step.
func (r *Room) judge(s *Seat, tag uint32, why world.Reason) {
	if why.Refused() {
		r.hub.stats.RefusedInputs++
		s.answer(tag, why)
	}
}

// errLeft is what the step of a game ends with that ends its goroutine.
var errLeft = errors.New("gateway: the game ended the goroutine that runs it")

// step runs the game, and contains its panic. A worker calls it.
func (r *Room) step() (err error) {
	err = errLeft
	defer func() {
		if why := recover(); why != nil {
			r.hub.log.Error("the game panicked", "room", r.Name(), "tick", r.sim.Tick(), "panic", why, "stack", string(debug.Stack()))
			err = fmt.Errorf("gateway: room %s: the game panicked at tick %d: %v", r.Name(), r.sim.Tick(), why)
		}
		r.err = err
	}()
	if r.shared != nil {
		r.shared.work()
		return nil
	}
	r.finish()
	entry := r.sim.Seal(r.hub.dueMicros(r.due), r.unsaid)
	r.unsaid = 0
	if r.kept != nil {
		r.kept.Append(r.sim.Tick(), entry)
	}
	r.sim.Advance()
	r.snapshot()
	return nil
}

// settle looks at what the tick brought that is the same for all dialects.
func (r *Room) settle() {
	for _, ev := range r.sim.Events() {
		p := r.players[ev.Player]
		switch {
		case p == nil || p.seat == nil:
		case ev.Kind == world.InputRefused:
			r.hub.stats.RefusedInputs++
			if ev.Input == world.Steer { // who may not throw is where it says all the same
				p.seat.view.Refused(ev.Entity, ev.Tick)
			}
			p.seat.answer(ev.Tag, ev.Reason)
		case ev.Kind == world.ActionDone:
			p.seat.answer(ev.Tag, world.Accepted)
		}
	}
	r.noteMembers()
}

// told forgets what all players were told of: the tick is over.
func (r *Room) told() {
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			s.results, s.answers = s.results[:0], false
		}
	}
	r.said = r.said[:0]
	r.hub.stats.Ticks++
	if len(r.came) > 0 {
		now := sinceStart()
		for _, at := range r.came { // how long the inputs have waited until all players were told
			r.hub.stats.InputSeconds.Add(now - at)
		}
		r.came = r.came[:0]
	}
	if r.isOver() {
		return
	}
	if r.shared != nil {
		r.shared.resume()
		return
	}
	r.state = roomQuiet
	r.catchUp()
}
