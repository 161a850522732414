package world

import (
	"iter"
	"math/bits"
	"slices"
	"unsafe"
)

// published is the world as clients are told of it: every field of every
// entity after the last tick, and the tick at which it last changed. Views read
// it, and never the world. An entity keeps its slot while it lives.
type published struct {
	stride int    // fields a slot
	now    uint64 // the tick of the last publication, from 1
	high   int    // one more than the greatest slot in use
	slots  []slot
	used   []uint64 // a bit a slot
	bits   []uint64 // slot*stride + field; an entity as its number
	raw    []uint64 // of an entity its ID
	texts  []string // if some field is one
	texted bool
	gone   []gone     // those that the last publication took away
	at     []uint64   // when the field last changed
	bySlot [][]uint32 // by kind and row: slot + 1 of who was there at the last tick
	slotOf lookup[ID] // by ID: of those that moved to another row
	grid   grid
	global []uint32 // slots of what has no body

	numbered int // how many there are that clients may be told of

	told    terrainCopy // the edited chunks as of the last publication
	changed []ChunkPlace
}

// A slot is one published entity. What every view looks at is in its first 64
// bytes, and it has 128, so that a look is one line of the processor's cache.
type slot struct {
	x, y    float64
	changed uint64 // when a replicated field last changed
	other   uint64 // when one besides its place did
	jumped  uint64 // when its place last was not where its speed would have brought it
	born    uint64 // the first publication that it was in; with the slot it tells one entity from the next
	kind    *Kind
	wire    uint16 // 0: no number yet
	owner   PlayerID
	hasBody bool

	id          ID
	seen        uint64  // the last publication that it was in
	vx, vy      float64 // its speed, as angle and norm give it
	angle, norm float32
	jolt        uint64 // Body.jolted
	jolted      uint64 // when that last changed
	counted     uint64 // when a countdown last was anything but one less
}

type gone struct {
	id   ID
	kind *Kind
}

func (p *published) init(s *Schema) {
	p.stride = s.tables
	p.bySlot = make([][]uint32, len(s.Kinds))
	isText := func(f Field) bool { return f.Type == Text }
	for _, k := range s.Kinds {
		p.texted = p.texted || slices.ContainsFunc(k.Fields, isText) || slices.ContainsFunc(k.hidden, isText)
	}
}

// publish brings the slots to the state of the world.
func (s *Sim) publish() {
	p := &s.public
	p.now++
	s.book.now = p.now
	p.grid.reset()
	p.global, p.numbered = p.global[:0], 0
	s.expect()
	for _, t := range s.world.tables {
		if list := &p.bySlot[t.kind.index]; len(*list) < len(t.ids) {
			*list = append(*list, make([]uint32, len(t.ids)-len(*list))...)
		}
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			i := p.slotFor(t, row)
			s.name(i, t.kind)
			p.slots[i].owner = t.owners[row]
			if p.slots[i].wire != 0 {
				p.numbered++
			}
		}
	}
	s.sweep()
	// Numbers first, fields then: a field may name an entity that is new, or one
	// that is gone.
	for _, t := range s.world.tables {
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			s.compare(int(p.bySlot[t.kind.index][row]-1), t, row)
		}
	}
	p.grid.sort()
	s.publishTerrain()
}

// slotFor finds the slot of the entity in a row, or takes one.
func (p *published) slotFor(t *table, row int) int {
	id, at := t.ids[row], &p.bySlot[t.kind.index][row]
	if *at != 0 && p.slots[*at-1].id == id {
		p.slots[*at-1].seen = p.now
		return int(*at - 1)
	}
	i := -1
	if was, ok := p.slotOf.get(id); ok && p.slots[was].kind == t.kind {
		i = int(was)
	} else {
		i = p.take()
		// A kind that has changed under one ID is another entity to clients: the
		// old slot is not seen in this publication and goes.
		p.slots[i] = slot{id: id, kind: t.kind, hasBody: t.kind.HasBody, born: p.now, changed: p.now, other: p.now, jumped: p.now}
		p.slotOf.put(id, uint32(i))
	}
	p.slots[i].seen = p.now
	*at = uint32(i + 1)
	return i
}

// take uses the lowest free slot.
func (p *published) take() int {
	for word := range p.used {
		if free := ^p.used[word]; free != 0 {
			i := word<<6 + bits.TrailingZeros64(free)
			p.reach(i + 1)
			p.used[word] |= 1 << (i & 63)
			p.high = max(p.high, i+1)
			return i
		}
	}
	p.used = append(p.used, 0)
	return p.take()
}

// slotsFor returns for how many slots there is room if so many are needed.
func slotsFor(slots int) int { return (slots + 15) &^ 15 }

// reach makes room for so many slots.
func (p *published) reach(slots int) {
	more := slotsFor(slots) - len(p.slots)
	if more <= 0 {
		return
	}
	p.slots = append(p.slots, make([]slot, more)...)
	p.bits = append(p.bits, make([]uint64, more*p.stride)...)
	p.raw = append(p.raw, make([]uint64, more*p.stride)...)
	p.at = append(p.at, make([]uint64, more*p.stride)...)
	if p.texted {
		p.texts = append(p.texts, make([]string, more*p.stride)...)
	}
}

// name gives an entity its number, if there is one to give.
func (s *Sim) name(i int, k *Kind) {
	e := &s.public.slots[i]
	if e.wire != 0 {
		return
	}
	if wire := s.reservedFor(e.id); wire != 0 {
		e.wire = s.book.giveReserved(e.id, k.index, wire)
		return
	}
	if e.wire = s.book.give(e.id, k.index); e.wire == 0 {
		s.stats.Unnumbered++
	}
}

// compare finds what has changed of an entity since the last publication.
func (s *Sim) compare(i int, t *table, row int) {
	p := &s.public
	e, from := &p.slots[i], i*p.stride
	ptr := t.at(row)
	isNew := e.born == p.now
	visible := len(t.kind.Fields)
	oldX, oldY := e.x, e.y
	for f := range t.kind.Fields {
		was := p.bits[from+f]
		if s.compareField(&t.kind.Fields[f], from+f, ptr, isNew) {
			e.changed = p.now
			switch {
			case t.kind.counts>>f&1 != 0 && !isNew && p.bits[from+f] == was-1:
			case t.kind.counts>>f&1 != 0:
				e.counted, e.other = p.now, p.now
			case !t.kind.HasBody || f > FieldY:
				e.other = p.now
			}
		}
	}
	if s.recorder != nil || s.replaying { // nobody else asks
		for f := range t.kind.hidden {
			s.compareField(&t.kind.hidden[f], from+visible+f, ptr, isNew)
		}
	}
	if !t.kind.HasBody {
		p.global = append(p.global, uint32(i))
		return
	}
	b := (*Body)(unsafe.Add(ptr, t.kind.body))
	e.x, e.y = b.X, b.Y
	if b.jolted != e.jolt {
		e.jolt, e.jolted = b.jolted, p.now
	}
	if b.Angle != e.angle || b.Norm != e.norm {
		e.angle, e.norm, e.vx, e.vy = b.Angle, b.Norm, 0, 0
		if b.Norm != 0 {
			sin, cos := SinCos(float64(b.Angle))
			e.vx, e.vy = float64(float64(b.Norm)*cos), float64(float64(b.Norm)*sin)
		}
	}
	if e.x != oldX || e.y != oldY || b.Norm != 0 {
		dx, dy := e.x-oldX-e.vx, e.y-oldY-e.vy
		if isNew || float64(dx*dx)+float64(dy*dy) > t.kind.predictError() {
			e.jumped = p.now
		}
	}
	p.grid.add(e.x, e.y, uint32(i))
}

// predictError is how far a body may be from where its speed would have
// brought it without being news to a client that moves bodies by itself.
const predictError = 1e-6

// predictError returns the square of predictError for a kind. Where a place is rounded, a body is up to half a
// step of the grid beside its way on either axis. Of a coarse grid that is news, as a client would run far
// ahead in the ticks in which it is told nothing.
func (k *Kind) predictError() float64 {
	const finest = 1.0 / 16
	if !k.placed {
		return predictError * predictError
	}
	off := float64(min(k.Fields[FieldX].Step, finest)/2) + predictError
	return float64(2 * off * off)
}

func (s *Sim) compareField(f *Field, at int, row rowPointer, isNew bool) bool {
	p := &s.public
	if f.Type == Text {
		text := *f.text(row)
		if !isNew && p.texts[at] == text {
			return false
		}
		p.texts[at] = text
	} else {
		v := f.load(row)
		raw := v
		if f.Type == Entity {
			v = uint64(s.book.tell(ID(v)))
		}
		if !isNew && p.bits[at] == v && p.raw[at] == raw {
			return false
		}
		p.bits[at], p.raw[at] = v, raw
	}
	p.at[at] = p.now
	return true
}

// sweep frees the slots of those that are gone.
func (s *Sim) sweep() {
	p := &s.public
	p.gone = p.gone[:0]
	for i := range p.high {
		e := &p.slots[i]
		if e.id == 0 || e.seen == p.now {
			continue
		}
		p.gone = append(p.gone, gone{e.id, e.kind})
		if was, ok := p.slotOf.get(e.id); ok && int(was) == i {
			p.slotOf.remove(e.id)
		}
		if e.wire != 0 && s.book.pages[e.wire].id == e.id {
			s.book.lose(e.wire)
		}
		if p.texted {
			clear(p.texts[i*p.stride : (i+1)*p.stride])
		}
		*e = slot{}
		p.used[i>>6] &^= 1 << (i & 63)
	}
	for p.high > 0 && p.slots[p.high-1].id == 0 {
		p.high--
	}
}

// value returns a published field.
func (p *published) value(i, field int, f *Field) Value {
	at := i*p.stride + field
	if f.Type == Text {
		return TextValue(p.texts[at])
	}
	return Value{Type: f.Type, bits: p.bits[at]}
}

// recorded returns a field as a recording has it: an entity by its ID.
func (p *published) recorded(i, field int, f *Field) Value {
	at := i*p.stride + field
	if f.Type == Text {
		return TextValue(p.texts[at])
	}
	return Value{Type: f.Type, bits: p.raw[at]}
}

// since returns which replicated fields have changed after a publication.
func (p *published) since(i int, when uint64) uint64 {
	var mask uint64
	at := p.at[i*p.stride : i*p.stride+len(p.slots[i].kind.Fields)]
	for f := range at {
		if at[f] > when {
			mask |= 1 << f
		}
	}
	return mask
}

// Changes iterates over all entities that the last Advance has changed, in sight or not.
// It is for a dialect that keeps one copy of the world for all its clients, as replica
// does. New entities are Entered. Removed entities are not included: views report them as
// Left.
func (s *Sim) Changes() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		p := &s.public
		for i := range p.high {
			e := &p.slots[i]
			if e.id == 0 || e.changed != p.now || e.wire == 0 {
				continue
			}
			c := Change{Kind: e.kind, ID: e.id, Entity: e.wire, Owner: e.owner, Mask: p.since(i, p.now-1), What: Changed, slot: uint32(i), public: p}
			if e.born == p.now {
				c.What, c.Mask = Entered, allFields(e.kind)
			}
			if !yield(c) {
				return
			}
		}
	}
}

func allFields(k *Kind) uint64 { return 1<<len(k.Fields) - 1 }

// A ChunkPlace is the position of a chunk.
type ChunkPlace struct{ BX, BY int16 }

// publishTerrain finds the chunks that were changed. The copies of the last
// publication are held until then, so a chunk that is still the same one has
// not changed.
func (s *Sim) publishTerrain() {
	p, t := &s.public, &s.world.terrain
	p.changed = p.changed[:0]
	old, edited := p.told.edited, t.edited
	for len(old) > 0 || len(edited) > 0 {
		switch {
		case len(edited) == 0 || len(old) > 0 && chunkKey(old[0].bx, old[0].by) < chunkKey(edited[0].bx, edited[0].by):
			p.changed = append(p.changed, ChunkPlace{old[0].bx, old[0].by})
			old = old[1:]
		case len(old) == 0 || chunkKey(edited[0].bx, edited[0].by) < chunkKey(old[0].bx, old[0].by):
			p.changed = append(p.changed, ChunkPlace{edited[0].bx, edited[0].by})
			edited = edited[1:]
		default:
			if old[0] != edited[0] {
				p.changed = append(p.changed, ChunkPlace{old[0].bx, old[0].by})
			}
			old, edited = old[1:], edited[1:]
		}
	}
	t.save(&p.told)
}

// ChangedChunks returns the chunks whose cells the last Advance has changed, or may have
// changed. The slice is valid until the next Advance.
func (s *Sim) ChangedChunks() []ChunkPlace { return s.public.changed }

// Chunk returns the cells of a chunk. They may be read until the next call of a method of
// Sim.
func (s *Sim) Chunk(bx, by int16) *Cells {
	t := &s.world.terrain
	c := t.chunkAt(bx, by)
	c.copyTo(t.scratch())
	return t.cells
}
