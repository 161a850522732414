package picture

import (
	"math"
	"slices"

	"parley/world"
)

// born is an entity that an own action has created here. It is drawn at once. When the server tells of an entity of its kind near it,
// that is the same; if it tells of none, the action was refused.
type born struct {
	id     world.ID
	kind   *world.Kind
	number uint64 // of the action
	tick   uint64
	sure   uint64 // the tick of the fate that contains the action; 0 if none has come
	wire   uint16 // 0 until the server has told of it
	named  bool   // the frame's world knows the number
}

// bear notes what the actions of the tick that has run have created. Step makes the same again when the tick is run again.
func (c *Core) bear(tick uint64) {
	w := c.guess.World()
	for i, number := range c.fed {
		if number == 0 {
			continue
		}
		_, child := c.guess.Outcome(i)
		for ; child != 0 && w.Exists(child); child++ {
			switch {
			case c.isBorn(child):
			case len(c.mine.born) < maxOwned && c.mine.unconfirmed() < maxBorn:
				c.mine.born = append(c.mine.born, born{id: child, kind: w.KindOf(child), number: number, tick: tick})
			default:
				w.Despawn(child) // it is there when the server tells of it
			}
		}
	}
}

// unconfirmed returns how many the server has not told of.
func (m *prediction) unconfirmed() (n int) {
	for i := range m.born {
		if m.born[i].wire == 0 {
			n++
		}
	}
	return n
}

func (c *Core) isBorn(id world.ID) bool {
	_, ok := c.bornOf(id)
	return ok
}

func (c *Core) bornOf(id world.ID) (*born, bool) {
	for i := range c.mine.born {
		if c.mine.born[i].id == id {
			return &c.mine.born[i], true
		}
	}
	return nil, false
}

// bornAs returns what was born here and has a number of the server's.
func (m *prediction) bornAs(wire uint16) (*born, bool) {
	for i := range m.born {
		if m.born[i].wire == wire {
			return &m.born[i], true
		}
	}
	return nil, false
}

// bore reports whether an input has created something.
func (m *prediction) bore(number uint64) bool {
	for i := range m.born {
		if m.born[i].number == number {
			return true
		}
	}
	return false
}

// unborn lets go of what the server says is gone.
func (c *Core) unborn(wire uint16) {
	for i := range c.mine.born {
		if b := &c.mine.born[i]; b.wire == wire {
			c.guess.World().Despawn(b.id)
			c.mine.born = append(c.mine.born[:i], c.mine.born[i+1:]...)
			return
		}
	}
}

// disown lets go of what an input has created.
func (c *Core) disown(number uint64) { c.letGo(func(b *born) bool { return b.number == number }) }

// abandon lets go of what the server had not told of when prediction stopped: it has flown on since, and is drawn as the server's. What is
// not done yet is born again when its tick is run.
func (c *Core) abandon() { c.letGo(func(b *born) bool { return b.wire == 0 }) }

func (c *Core) letGo(which func(b *born) bool) {
	c.mine.born = slices.DeleteFunc(c.mine.born, func(b born) bool {
		gone := which(&b)
		if gone {
			c.guess.World().Despawn(b.id)
		}
		return gone
	})
}

// confirm finds, in the truth of a tick, what was born here. The guess is as it was after that tick.
func (c *Core) confirm(tick, number uint64) {
	m := &c.mine
	keep := m.born[:0]
	for i := range m.born {
		b := &m.born[i]
		if b.number <= number && b.sure == 0 {
			b.sure = max(tick, 1)
		}
		if b.wire == 0 && b.sure != 0 {
			c.match(b, tick)
		}
		if b.wire == 0 && b.sure != 0 && tick > b.sure+graceTicks {
			c.guess.World().Despawn(b.id)
			c.stats.Undone++
			continue
		}
		keep = append(keep, *b)
	}
	m.born = keep
}

// match finds the server's entity that an own one is.
func (c *Core) match(b *born, tick uint64) {
	var found *track
	least := math.Inf(1)
	for _, t := range c.list {
		s := t.newest(tick)
		if t.ghost || t.wire == c.own || t.kind != b.kind || t.first < b.tick || s == nil || s.gone {
			continue
		}
		if far := c.distance(b, s); far < least {
			found, least = t, far
		}
	}
	if found != nil {
		b.wire, found.ghost = found.wire, true
		c.guess.Adopt(b.id, found.wire)
		c.stats.Adopted++
	}
}

// distance returns how far the server's entity is from an own one, or infinity if it cannot be the same. An action that came late was
// done some ticks later.
func (c *Core) distance(b *born, s *sample) float64 {
	if !b.kind.HasBody {
		return 0
	}
	body := c.guess.World().Body(b.id)
	if body == nil { // it is over, here: what the server tells of is another, or lives longer
		return math.Inf(1)
	}
	is := s.at()
	far := math.Hypot(body.X-is.x, body.Y-is.y)
	if far > 3*max(b.kind.MaxSpeed, s.norm())+1 {
		return math.Inf(1)
	}
	return far
}
