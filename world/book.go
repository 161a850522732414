package world

// The book gives entities the numbers that clients know them by. It is no part
// of the state: a replay does not touch it, so "an id once announced stays with
// the (player, action) that created it in every replay" (realm). A number rests
// after its entity is gone, and while some view has not confirmed that its
// client knows so; the one that has rested longest is given first.
type book struct {
	wires lookup[ID] // by ID: of the living, and of the dead until the number is given again
	pages []page     // by number, up to the greatest that was given
	free  []uint16   // a ring: numbers at rest, the longest first
	first int        // where the ring begins
	count int        // how many are in it
	rest  uint64     // ticks
	none  uint64     // the tick at which there was none to give
	now   uint64
}

type page struct {
	id    ID
	kind  int32
	dead  uint64 // the tick from which the number rests
	holds int32  // views whose clients may still know it
	alive bool
	queue bool   // it is in the ring
	since uint64 // from when it is
}

func (b *book) init(rest uint64) {
	b.pages = make([]page, 1, 64) // number 0 is nobody's
	b.rest = rest
}

// known returns the number of an entity that has one and lives, or 0.
func (b *book) known(id ID) uint16 {
	if wire, ok := b.wires.get(id); ok && b.pages[wire].alive {
		return uint16(wire)
	}
	return 0
}

// give returns the number of an entity, a new one if it has none, or 0 if there
// is none to give. An entity that a replay took away and brought back has the
// one that it had; one that came back as another kind has not.
func (b *book) give(id ID, kind int) uint16 {
	if wire, ok := b.wires.get(id); ok {
		p := &b.pages[wire]
		if p.kind == int32(kind) {
			p.alive = true
			return uint16(wire)
		}
		b.lose(uint16(wire))
		b.wires.remove(id)
		p.id = 0
	}
	wire := b.next()
	if wire == 0 {
		return 0
	}
	p := &b.pages[wire]
	if p.id != 0 {
		b.wires.remove(p.id)
	}
	*p = page{id: id, kind: int32(kind), alive: true}
	b.wires.put(id, uint32(wire))
	return wire
}

// next takes a number that was never given, or the one that rests longest if
// that is long enough.
func (b *book) next() uint16 {
	if len(b.pages) <= MaxEntity {
		b.pages = append(b.pages, page{})
		return uint16(len(b.pages) - 1)
	}
	if b.none == b.now {
		return 0
	}
	for range b.count {
		wire := b.free[b.first]
		b.first, b.count = (b.first+1)%len(b.free), b.count-1
		p := &b.pages[wire]
		if b.now-p.since < b.rest {
			// None behind it has been in the ring for longer. Put it back in front.
			b.first, b.count = (b.first+len(b.free)-1)%len(b.free), b.count+1
			break
		}
		p.queue = false
		switch {
		case p.alive:
			// It came back to life; lose puts it in again.
		case p.holds > 0 || b.now-p.dead < b.rest:
			b.enqueue(wire)
		default:
			return wire
		}
	}
	b.none = b.now
	return 0
}

func (b *book) enqueue(wire uint16) {
	if b.count == len(b.free) {
		// The ring is full: turn it to its beginning and make it larger.
		larger := make([]uint16, max(64, 2*len(b.free)))
		n := copy(larger, b.free[b.first:])
		copy(larger[n:], b.free[:b.first])
		b.free, b.first = larger, 0
	}
	b.free[(b.first+b.count)%len(b.free)] = wire
	b.count++
	b.pages[wire].queue, b.pages[wire].since = true, b.now
}

// lose lets a number rest: its entity is gone.
func (b *book) lose(wire uint16) {
	p := &b.pages[wire]
	p.alive, p.dead = false, b.now
	if !p.queue {
		b.enqueue(wire)
	}
}

func (b *book) hold(wire uint16) { b.pages[wire].holds++ }

// letGo ends a hold. The rest begins anew, as the client has only now let go.
func (b *book) letGo(wire uint16) {
	p := &b.pages[wire]
	p.holds--
	if !p.alive {
		p.dead = b.now
	}
}

// Wire returns the number that clients know a living entity by, or 0.
func (s *Sim) Wire(id ID) uint16 { return s.book.known(id) }

// ByWire returns the living entity of a number, or 0.
func (s *Sim) ByWire(wire uint16) ID {
	if int(wire) >= len(s.book.pages) || !s.book.pages[wire].alive {
		return 0
	}
	return s.book.pages[wire].id
}
