package picture

import (
	"math"
	"time"

	"parley/world"
)

// Frame is what is to be drawn at a moment. It is valid until the next call of Core.Frame, and nothing else changes it.
type Frame struct {
	// Tick is the tick of the server at which others are drawn. It never falls while the player is in one room.
	Tick float64

	// OwnTick is the tick at which the own entity is drawn, ahead of the server. It is 0 if the own entity is not predicted.
	OwnTick float64

	world *world.World
	own   world.ID
	names map[world.ID]string
}

// World returns the entities as they are to be drawn, as structs of the game: world.All, world.Get, and terrain by the server's seed.
func (f *Frame) World() *world.World { return f.world }

// Own returns the own entity, or 0 if there is none at the moment.
func (f *Frame) Own() world.ID { return f.own }

// Name returns the name of the player whose own entity this is, or nothing if it is not known.
func (f *Frame) Name(id world.ID) string { return f.names[id] }

// Frame returns what is to be drawn now. The times of its calls must not fall.
func (c *Core) Frame(now time.Time) *Frame {
	c.HandleTimeout(now)
	f := &c.frame
	if c.shown.World() != f.world { // another world
		*f = Frame{world: c.shown.World(), names: map[world.ID]string{}}
		c.mine.drawn = c.mine.drawn[:0]
	}
	tick := c.others(now)
	c.clearOwn(f)
	for _, m := range c.chunks {
		c.shown.SetChunk(m.at, m.cells)
	}
	c.chunks = c.chunks[:0]
	for _, wire := range c.erase {
		c.shown.Drop(wire)
	}
	for _, wire := range c.unname {
		c.shown.Forget(wire)
	}
	c.erase, c.unname = c.erase[:0], c.unname[:0]
	c.nameBorn()
	for i := 0; i < len(c.list); i++ {
		if t := c.list[i]; c.mine.ready && (t.ghost || t.wire == c.own) { // drawOwn draws it
			c.hide(t)
		} else if !c.draw(t, tick) {
			c.lose(t)
			i--
		}
	}
	f.OwnTick = 0
	c.drawOwn(now, f)
	f.own = 0
	if id := c.shown.ID(c.own); c.own != 0 && f.world.Exists(id) {
		f.own = id
	}
	c.shown.Own(c.own)
	c.drawNames(f)
	f.world.Reindex()
	return f
}

// others returns the tick at which others are drawn. Before ticks are told, it is the newest that has come.
func (c *Core) others(now time.Time) float64 {
	tick, ok := c.clock.At(now)
	if !ok {
		return float64(c.newest)
	}
	if c.over {
		tick = float64(c.newest)
	}
	c.frame.Tick = max(c.frame.Tick, tick)
	if c.connected {
		c.stats.Frames++
		if c.frame.Tick > float64(c.newest) {
			c.stats.Unbracketed++
		}
	}
	return c.frame.Tick
}

// nameBorn has the frame's world know which numbers own creations have by now: each keeps its ID, whoever draws it.
func (c *Core) nameBorn() {
	for i := range c.mine.born {
		if b := &c.mine.born[i]; b.wire != 0 && !b.named {
			b.named = true
			c.shown.Adopt(b.id, b.wire)
		}
	}
}

// hide takes what is a track out of the frame, if it was drawn. What drawOwn draws stays for it.
func (c *Core) hide(t *track) {
	if t.drawn == 0 {
		return
	}
	t.drawn = 0
	if _, isBorn := c.mine.bornAs(t.wire); !c.mine.ready || !isBorn && t.wire != c.own {
		c.shown.Drop(t.wire)
	}
}

// draw puts an entity into the frame as it was at a tick. It returns false if it is gone for good.
func (c *Core) draw(t *track, tick float64) bool {
	at := 0 // the last sample before it
	for at+1 < len(t.samples) && float64(t.samples[at+1].tick) <= tick {
		at++
	}
	t.forget(at)
	s := &t.samples[0]
	switch {
	case float64(s.tick) > tick: // it is yet to come into sight, unless it was drawn before ticks were told
		return true
	case s.gone:
		c.hide(t)
		return len(t.samples) > 1 || tick < float64(s.tick+maxSamples)
	}
	if t.drawn != s.tick+1 {
		if c.shown.Put(t.wire, t.kind, s.values) {
			t.drawn, t.moved = s.tick+1, false
		} else {
			c.hide(t)
			return true
		}
	}
	if !t.kind.HasBody {
		return true
	}
	p, between := c.between(t, tick)
	if between || t.moved {
		if b := c.shown.World().Body(c.shown.ID(t.wire)); b != nil {
			b.X, b.Y, b.Angle = p.x, p.y, p.angle
		}
		t.moved = between
	}
	return true
}

// between returns where a body is at a tick, and whether that is between two samples.
func (c *Core) between(t *track, tick float64) (place, bool) {
	s := &t.samples[0]
	from := s.at()
	if len(t.samples) < 2 || t.samples[1].gone {
		return from, false
	}
	next := &t.samples[1]
	to := next.at()
	start := next.tick - walked(s, next)
	if tick <= float64(start) || c.jumps(t.kind, s, next) {
		return from, false
	}
	return lerp(from, to, (tick-float64(start))/float64(next.tick-start)), true
}

// walked returns for how many ticks before a sample a body has been on its way there from the one before. It is told when it changes, so that
// it has stood still before that; or ticks with it were lost, or are told less often, and it was on its way all the time.
func walked(s, next *sample) uint64 {
	const few = 3 // ticks that may be lost
	ticks := next.tick - s.tick
	a, b := s.at(), next.at()
	fast := max(s.norm(), next.norm())
	switch {
	case ticks == 1:
		return 1
	case fast > 0:
		return max(1, min(uint64(math.Ceil(math.Hypot(a.x-b.x, a.y-b.y)/fast-.01)), ticks))
	case ticks <= few: // its norm does not tell how it moves
		return ticks
	}
	return 1
}

// jumps reports whether a body is farther away than it can have walked: it has been placed there, as one that lives again is.
func (c *Core) jumps(k *world.Kind, from, to *sample) bool {
	ticks := to.tick - from.tick
	fast := max(from.norm(), to.norm(), k.MaxSpeed)
	a, b := from.at(), to.at()
	return math.Hypot(a.x-b.x, a.y-b.y) > 2*fast*float64(ticks)+1
}

// lerp returns the place between two. An angle goes the shorter way.
func lerp(a, b place, part float64) place {
	turn := math.Remainder(float64(b.angle-a.angle), 2*math.Pi)
	return place{a.x + (b.x-a.x)*part, a.y + (b.y-a.y)*part, a.angle + float32(turn*part)}
}

// drawNames brings the names of the frame up to date.
func (c *Core) drawNames(f *Frame) {
	if !c.renamed {
		return
	}
	c.renamed = false
	clear(f.names)
	for wire, name := range c.names {
		f.names[c.shown.ID(wire)] = name
	}
}
