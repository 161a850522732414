package picture

import (
	"fmt"
	"math"
	"time"

	"parley/play/message"
	"parley/world"
)

// input is something that the player has done, and whose fate is not known.
type input struct {
	number uint64
	tick   uint64 // in which it is done, as far as is known
	made   uint64 // the tick that it was meant for
	shown  uint64
	action *world.Action // nil for a steer
	params [world.MaxParams]world.Value
	angle  float32
	norm   float32
	cell   bool // over realm: the own body is in the cell around x and y
	x, y   float64
	sent   int
	probe  bool // it asks for nothing new: it is sent once, and shows how long that takes
}

func (in *input) stamp() message.Stamp {
	return message.Stamp{Number: uint32(in.number), Tick: uint32(in.made), Shown: uint32(in.shown)}
}

// steering is a steer as Step gets it.
func (in *input) steering() world.Steering {
	return world.Steering{Angle: in.angle, Norm: in.norm, HasAngle: true, HasNorm: true, HasPlace: in.cell, Cell: in.cell, X: in.x, Y: in.y}
}

// inputs are those whose fate is not known, by their numbers, and what the player wants.
type inputs struct {
	list   []input
	number uint64 // of the newest

	angle, norm float32 // as the player steers
	steered     bool    // it has, at all
	waits       bool    // and that is to be sent with the next tick

	tick    uint64  // for which steers were made last
	steers  int     // and how many
	probeAt float64 // the own time of the next probe
	calls   int     // probes that were due before fates came
}

// forget lets go of all, as the ticks of another world are others.
func (q *inputs) forget() { q.list, q.probeAt = q.list[:0], 0 }

// restart prepares for a new connection. What was sent over the old one and has no fate yet is not sent again, as the server may have
// done it; how the player steers is.
func (q *inputs) restart() {
	q.list = q.list[:0]
	q.waits, q.calls, q.probeAt = q.steered, 0, 0
}

// of returns the input with a number of the wire, if it is among the newest.
func (q *inputs) of(number uint32) *input {
	for i := len(q.list) - 1; i >= 0; i-- {
		if in := &q.list[i]; uint32(in.number) == number {
			return in
		}
	}
	return nil
}

// done lets go of what the truth of a tick contains, or will never contain. What is late is done as soon as it is there, so that it is run again in
// the next tick; but what it has created here stays.
func (c *Core) done(number, tick uint64) {
	q := &c.inputs
	keep := q.list[:0]
	for i := range q.list {
		in := &q.list[i]
		if in.number <= number {
			continue
		}
		if in.action == nil || !c.mine.bore(in.number) {
			in.tick = max(in.tick, tick+1)
		}
		keep = append(keep, *in)
	}
	q.list = keep
}

// add returns a new input for a tick.
func (q *inputs) add(tick, shown uint64) *input {
	if len(q.list) >= maxInputs {
		copy(q.list, q.list[1:])
		q.list = q.list[:maxInputs-1]
	}
	q.number++
	q.list = append(q.list, input{number: q.number, tick: tick, made: tick, shown: shown})
	return &q.list[len(q.list)-1]
}

// Steer has the own entity move in a direction, in radians, at a number of cells a tick. The next frame shows it. A call that changes
// nothing costs nothing.
func (c *Core) Steer(now time.Time, angle, norm float32) error {
	if !finite(angle) || !finite(norm) {
		return fmt.Errorf("picture: steer: angle %v and norm %v must be finite", angle, norm)
	}
	if t := c.tracks[c.own]; t != nil && t.kind.HasBody && !(norm >= 0 && norm <= float32(t.kind.MaxSpeed)) {
		return fmt.Errorf("picture: steer: the norm is %v, and the server takes 0 to %v cells a tick for a %s", norm, t.kind.MaxSpeed, t.kind.Name)
	}
	q := &c.inputs
	if q.steered && q.angle == angle && q.norm == norm {
		return nil
	}
	q.angle, q.norm, q.steered = angle, norm, true
	q.waits = true
	if c.HandleTimeout(now); !c.ready() || !q.waits {
		return nil
	}
	tick := c.mine.tick + 1
	if q.tick != tick {
		q.tick, q.steers = tick, 0
	}
	if q.steers++; q.steers > steersATick {
		return nil // with the next tick
	}
	return c.sendSteer(now, tick)
}

// sendSteer makes an input of how the player steers.
func (c *Core) sendSteer(now time.Time, tick uint64) error {
	q := &c.inputs
	q.waits = false
	in := q.add(tick, c.shownTick(now))
	in.angle, in.norm = q.angle, q.norm
	if r, ok := c.voice.(*Realm); ok {
		r.claim(in)
	}
	c.redo(now)
	return c.send(now, &q.list[len(q.list)-1])
}

// Act does an action. params has a value for each of its fields; an Entity among them is an ID of the frame's world.
func (c *Core) Act(now time.Time, a *world.Action, params []world.Value) error {
	if len(params) != len(a.Fields) {
		return fmt.Errorf("picture: %s has %d parameters, not %d", a.Name, len(a.Fields), len(params))
	}
	if c.voice == nil {
		return ErrAway
	}
	c.HandleTimeout(now)
	tick := c.newest + 1
	if c.ready() {
		tick = c.mine.tick + 1
	}
	in := c.inputs.add(tick, c.shownTick(now))
	in.action = a
	copy(in.params[:], params)
	for i := range params {
		if in.params[i].Type == world.Entity { // it is a number to the server
			wire, _ := c.guess.Wire(world.ID(params[i].Uint()))
			in.params[i] = world.UintValue(world.Entity, uint64(wire))
		}
	}
	c.redo(now)
	in = &c.inputs.list[len(c.inputs.list)-1]
	err := c.send(now, in)
	if err != nil {
		c.undo(now, in.number)
	}
	return err
}

// undo lets go of the newest input, an action that could not be sent: its error says that it is not done.
func (c *Core) undo(now time.Time, number uint64) {
	c.inputs.list = c.inputs.list[:len(c.inputs.list)-1]
	c.disown(number)
	c.redo(now)
}

// Say sends a line of chat.
func (c *Core) Say(text string) error {
	if c.voice == nil {
		return ErrAway
	}
	return c.voice.say(text)
}

// send sends an input, for the first time or again.
func (c *Core) send(now time.Time, in *input) error {
	if c.voice == nil {
		return ErrAway
	}
	in.sent++
	if err := c.speak(now, in); err != nil {
		return err
	}
	if in.sent == 1 {
		c.stats.Inputs++
		c.lead.Sent(now, in.made, in.number)
	} else {
		c.lead.Again(in.made)
	}
	c.stats.Sent++
	return nil
}

func (c *Core) speak(now time.Time, in *input) error {
	if in.action != nil {
		return c.voice.act(now, in.action, in.params[:len(in.action.Fields)], in.stamp(), in.sent > 1)
	}
	return c.voice.steer(now, in.angle, in.norm, in.stamp())
}

// repeat sends again, with a new tick of the client's own, what the server may not have. Errors are those of a full window, and each
// repetition makes up for the one before.
func (c *Core) repeat(now time.Time) {
	q := &c.inputs
	for i := range q.list {
		in := &q.list[i]
		newest := true // of the steers
		for j := i + 1; j < len(q.list); j++ {
			newest = newest && (q.list[j].action != nil || q.list[j].probe)
		}
		switch {
		case in.probe && in.sent > 0:
		case in.sent == 0, in.action != nil && in.sent == 1, in.action == nil && (newest || in.sent < repeatSteers):
			_ = c.send(now, in)
		}
	}
}

// probe sends an input that asks for nothing new: the margin is only told of inputs, and says little of
// those that are sent several times. The player goes on steering as it does. One that has never steered asks for what its body does.
func (c *Core) probe(now time.Time, tick uint64) {
	q := &c.inputs
	angle, norm := q.angle, q.norm
	if !q.steered {
		t := c.tracks[c.own]
		if t == nil || len(t.samples) == 0 || t.last().gone || !t.kind.HasBody {
			return
		}
		s := t.last()
		angle, norm = s.at().angle, float32(s.norm())
	}
	in := q.add(tick, c.shownTick(now))
	in.angle, in.norm, in.probe = angle, norm, true
	_ = c.send(now, in) // the next one makes up for it
}

// shownTick is the tick of the others that is on the screen.
func (c *Core) shownTick(now time.Time) uint64 {
	tick, ok := c.clock.At(now)
	if !ok || tick < 0 {
		return 0
	}
	return min(uint64(math.Round(tick)), c.newest)
}
