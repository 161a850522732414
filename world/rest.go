package world

import (
	"maps"
	"reflect"
	"slices"
)

// Rest lets go of the memory that can be made again: room for more entities, inputs and players than there are, chunks that nobody has
// changed, indices. Call it when a room goes to sleep, between Advance and what is submitted next. The Sim goes on as before, and only its
// next ticks take longer. The results of the last Advance (Events, ChangedChunks) and the last entry of Seal and ReadEntry are void then.
func (s *Sim) Rest() {
	s.hearViews()
	s.scratch, s.params, s.spare, s.events, s.facts = nil, nil, nil, nil, nil
	for i := range s.history.ring {
		s.history.ring[i].shrink(s.world)
	}
	s.world.shrink()
	s.public.shrink(s.views)
	s.book.shrink()
	if !slices.ContainsFunc(s.views, func(v *View) bool { return !v.config.Copy }) {
		s.book.forget()
	}
	s.views = fit(s.views)
	s.share.shrink()
	s.roll.shrink()
	s.log.shrink()
	if s.recorder != nil {
		s.recorder.block = nil
	}
	if s.players == 0 {
		s.present = nil
	}
	if len(s.awaited) == 0 {
		s.awaited, s.owed = nil, nil
	}
}

// fit copies a list that has much more room than it needs. An empty one becomes nil.
func fit[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return append(make([]T, 0, len(list)), list...)
}

func (m *moment) shrink(w *World) {
	m.grid, m.indexed = grid{}, false
	if len(m.inputs) == 0 {
		m.inputs, m.params, m.order, m.counts, m.done = nil, nil, nil, lookup[uint32]{}, nil
	}
	m.words, m.texts = fit(m.words), fit(m.texts)
	if !m.saved { // what was before another tick
		w.terrain.drop(m.before.terrain.edited)
		m.before = snapshot{}
		return
	}
	for i := range m.before.tables {
		m.before.tables[i].shrink(w.tables[i])
	}
	m.before.players = fit(m.before.players)
}

func (c *tableCopy) shrink(t *table) {
	old := c.pages
	c.pages, c.room = nil, 0
	c.reach(t, c.high)
	for i := range c.pages {
		reflect.Copy(c.pages[i], old[i])
	}
	c.ids, c.owners, c.used = fit(c.ids), fit(c.owners), fit(c.used)
}

func (w *World) shrink() {
	for _, t := range w.tables {
		pages := min(len(t.pages), pagesFor(t.high))
		t.pages, t.bases = fit(t.pages[:pages]), fit(t.bases[:pages])
		t.ids, t.owners = fit(t.ids[:pages*pageRows]), fit(t.owners[:pages*pageRows])
		t.used = fit(t.used[:(t.high+63)/64])
	}
	w.where.shrink()
	w.grid, w.fresh = grid{}, false
	w.players.list = fit(w.players.list)
	w.players.index = nil
	w.players.reindex(0)
	w.terrain.shrink()
}

func (t *terrain) shrink() {
	t.pristine, t.spare, t.cells = nil, nil, nil
	clear(t.recent[:])
}

// shrink leaves the slots where they are, also those of the dead that views have not looked at since.
func (p *published) shrink(views []*View) {
	high := p.high
	for _, v := range views {
		high = max(high, v.own+1)
		for _, x := range v.entries.list {
			high = max(high, int(x.slot)+1)
		}
	}
	slots := slotsFor(high)
	p.slots, p.used = fit(p.slots[:slots]), fit(p.used[:(high+63)/64])
	p.bits, p.raw, p.at = fit(p.bits[:slots*p.stride]), fit(p.raw[:slots*p.stride]), fit(p.at[:slots*p.stride])
	if p.texted {
		p.texts = fit(p.texts[:slots*p.stride])
	}
	p.slotOf.shrink()
	for i, list := range p.bySlot {
		used := 0
		for row, slot := range list {
			switch {
			case int(slot) > slots:
				list[row] = 0 // of one that is gone
			case slot != 0:
				used = row + 1
			}
		}
		p.bySlot[i] = fit(list[:used])
	}
	p.grid.list, p.grid.rows, p.global = fit(p.grid.list), fit(p.grid.rows), fit(p.global) // a view may come before the next tick
	p.gone, p.changed = nil, nil
}

func (b *book) shrink() {
	b.wires.shrink()
	b.pages = fit(b.pages)
	b.told.shrink()
	b.untold.shrink()
}

// forget ends the rest of all numbers. It is for a room that no client sees: whoever comes is told everything anew, over another
// connection.
func (b *book) forget() {
	last := 0
	for wire, p := range b.pages {
		if p.alive || p.holds > 0 { // by a player who is about to join, or a gateway's copy
			last = wire
		}
	}
	b.pages = fit(b.pages[:last+1])
	b.wires, b.told, b.untold = lookup[ID]{}, resting{}, resting{}
	for wire := 1; wire <= last; wire++ {
		if p := &b.pages[wire]; !p.alive && p.holds == 0 {
			*p = page{queue: true}
			b.untold.add(uint16(wire))
		}
	}
	for wire := 1; wire <= last; wire++ {
		p := &b.pages[wire]
		if p.alive {
			p.queue = false
		} else if p.holds > 0 {
			b.enqueue(uint16(wire))
		}
		if p.id != 0 {
			b.wires.put(p.id, uint32(wire))
		}
	}
}

func (r *resting) shrink() {
	list := make([]uint16, 0, r.count)
	for i := range r.count {
		list = append(list, r.at(i))
	}
	*r = resting{ring: list, count: r.count}
}

func (s *share) shrink() {
	s.accounts, s.owing, s.late = fitMap(s.accounts), fit(s.owing), fit(s.late)
}

func (r *roll) shrink() {
	r.tickets, r.nodes = fitMap(r.tickets), fit(r.nodes)
	if r.seats, r.tokens = fitMap(r.seats), fitMap(r.tokens); r.seats != nil && r.tokens == nil {
		r.tokens = map[TokenHash]PlayerID{}
	}
}

// fitMap copies a map, which keeps room for all that it ever held. An empty one becomes nil.
func fitMap[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func (l *ledger) shrink() {
	l.items, l.origins = fit(l.items), origins{fit(l.origins.nodes), fit(l.origins.requests), l.origins.last}
	l.entry = Entry{}
	if !l.sealed {
		l.block = nil
	}
}

// shrink makes a lookup as small as it can be.
func (t *lookup[K]) shrink() {
	old := *t
	*t = lookup[K]{}
	if old.n == 0 {
		return
	}
	t.reserve(old.n)
	for i, key := range old.keys {
		if key != 0 {
			t.put(key, old.vals[i])
		}
	}
}
