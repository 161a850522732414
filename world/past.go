package world

import "iter"

// A Past is the bodies of the world as they were published after a tick: what a player had on the screen who aimed. It may be read and not
// changed, and is valid until Step returns. Entities that are gone since then are not in it, as there is nothing left to hit.
type Past struct {
	w *World
	m *moment // whose beginning it is; nil is now
}

// At returns the bodies as they were after a tick, such as Input.Shown. A tick is believed up to Config.MaxShownTicks back. For any other
// tick, and for 0, it returns the bodies of now. A late input that is run again sees what it would have seen in time.
func (w *World) At(tick uint64) Past {
	if tick == 0 || tick >= w.tick || w.tick-tick > w.history.shown {
		return Past{w: w}
	}
	m := w.history.at(tick + 1)
	if m.tick != tick+1 || !m.saved {
		return Past{w: w} // before the world began, or before the snapshot that it was loaded from
	}
	return Past{w: w, m: m}
}

// Tick returns the tick after which the bodies were so. For now it is World.Tick.
func (p Past) Tick() uint64 {
	if p.m == nil {
		return p.w.tick
	}
	return p.m.tick - 1
}

// Body returns the body that an entity had.
func (p Past) Body(id ID) (Body, bool) {
	at, ok := p.w.where.get(id)
	if !ok || !p.w.tables[at>>16].kind.HasBody {
		return Body{}, false
	}
	return p.body(int(at>>16), int(at&0xffff), id)
}

func (p Past) body(kind, row int, id ID) (Body, bool) {
	t := p.w.tables[kind]
	if p.m == nil {
		return t.body(row).seen(), true
	}
	c := &p.m.before.tables[kind]
	if row >= c.high || c.ids[row] != id {
		return Body{}, false
	}
	return c.body(t, row).seen(), true
}

// seen returns what is published of a body. The rest is not kept in snapshots, and would change the state if the game put it back.
func (b *Body) seen() Body {
	return Body{X: b.X, Y: b.Y, Angle: b.Angle, Norm: b.Norm, Sprite: b.Sprite}
}

// Near iterates over the bodies that were within a distance of (x, y), as World.Near does for now.
func (p Past) Near(x, y, distance float64) iter.Seq2[ID, Body] {
	x, y, distance = float64(x), float64(y), float64(distance)
	return func(yield func(ID, Body) bool) {
		if p.m == nil {
			for id, b := range p.w.Near(x, y, distance) {
				if !yield(id, b.seen()) {
					return
				}
			}
			return
		}
		p.index()
		distance = max(0, min(distance, ChunkSide<<16))
		square := float64(distance * distance)
		for ref := range p.m.grid.within(x, y, distance) {
			kind, row := int(ref>>16&0xff), int(ref&0xffff)
			id := p.m.before.tables[kind].ids[row]
			if t := p.w.tables[kind]; row >= t.high || t.ids[row] != id {
				continue // it is gone
			}
			b, _ := p.body(kind, row, id)
			dx, dy := b.X-x, b.Y-y
			if float64(dx*dx)+float64(dy*dy) <= square && !yield(id, b) {
				return
			}
		}
	}
}

// Touching iterates over the bodies whose outlines overlapped that of b. If b is the body of an entity, that entity is among them.
func (p Past) Touching(b *Body) iter.Seq2[ID, Body] {
	return func(yield func(ID, Body) bool) {
		reach := p.w.Hitbox(b).reach() + p.w.widest()
		for id, other := range p.Near(b.X, b.Y, reach) {
			if p.w.Overlap(b, &other) && !yield(id, other) {
				return
			}
		}
	}
}

// index makes the grid of the bodies, when it is first asked for. It stays until the tick is run again.
func (p Past) index() {
	m := p.m
	if m.indexed {
		return
	}
	m.indexed = true
	m.grid.reset()
	for kind, t := range p.w.tables {
		if !t.kind.HasBody {
			continue
		}
		c := &m.before.tables[kind]
		for row := range c.high {
			if c.ids[row] != 0 {
				b := c.body(t, row)
				m.grid.add(b.X, b.Y, uint32(kind)<<16|uint32(row))
			}
		}
	}
	m.grid.sort()
}
