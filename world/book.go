package world

import "sort"

// The book gives entities the numbers that clients know them by. It is no part
// of the state: a replay does not touch it, so "an id once announced stays with
// the (player, action) that created it in every replay" (realm). A number rests
// after its entity is gone, and while some view has not confirmed that its
// client knows so; the one that has rested longest is given first. One that no
// client was told rests only until all of the server has let go of it: who makes
// and drops what nobody sees uses up no numbers.
type book struct {
	wires  lookup[ID] // by ID: of the living, and of the dead until the number is given again
	pages  []page     // by number, up to the greatest that was given
	told   resting    // numbers at rest that some client knew
	untold resting    // and those that none did
	rest   uint64     // ticks, of those that were told
	none   uint64     // the tick at which none had rested for long enough
	now    uint64
}

// A page is what is known of a number.
type page struct {
	id    ID
	dead  uint64 // the tick from which the number rests
	since uint64 // from when it is in the ring
	holds int32  // views whose clients may still know it
	kind  uint8
	alive bool
	queue bool // it is in a ring
	told  bool // some client may know it
}

// resting is a ring of numbers, the longest at rest first.
type resting struct {
	ring  []uint16
	first int
	count int
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
		if int(p.kind) == kind {
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
	*p = page{id: id, kind: uint8(kind), alive: true}
	b.wires.put(id, uint32(wire))
	return wire
}

// next takes a number: one of the first, then the one that rests longest if that is long enough, then one that was never given. So
// there are about as many pages as numbers are used in the time that one rests.
func (b *book) next() uint16 {
	if len(b.pages) > firstNumbers && b.none != b.now {
		if wire := b.rested(&b.told, b.rest); wire != 0 {
			return wire
		}
		if wire := b.rested(&b.untold, min(untoldRest, b.rest)); wire != 0 {
			return wire
		}
		b.none = b.now
	}
	if len(b.pages) > MaxEntity {
		return 0
	}
	b.pages = append(b.pages, page{})
	return uint16(len(b.pages) - 1)
}

// rested takes the number that has been in a ring for longest, if that is long
// enough, or 0.
func (b *book) rested(r *resting, rest uint64) uint16 {
	for range r.count {
		wire := r.at(0)
		p := &b.pages[wire]
		if b.now-p.since < rest {
			return 0 // none behind it has been there for longer
		}
		r.first, r.count = (r.first+1)%len(r.ring), r.count-1
		p.queue = false
		switch {
		case p.alive:
			// It came back to life; lose puts it in again.
		case p.holds > 0 || b.now-p.dead < b.restOf(p):
			b.enqueue(wire)
		default:
			return wire
		}
	}
	return 0
}

// spare returns how many numbers there are to give. It may count some that came
// back to life, or that are held.
func (b *book) spare() int {
	return MaxEntity + 1 - len(b.pages) + b.ready(&b.told, b.rest) + b.ready(&b.untold, min(untoldRest, b.rest))
}

// ready returns how many numbers have been in a ring for long enough.
func (b *book) ready(r *resting, rest uint64) int {
	return sort.Search(r.count, func(i int) bool { return b.now-b.pages[r.at(i)].since < rest })
}

func (b *book) restOf(p *page) uint64 {
	if p.told {
		return b.rest
	}
	return min(untoldRest, b.rest)
}

func (b *book) enqueue(wire uint16) {
	p := &b.pages[wire]
	if p.queue, p.since = true, b.now; p.told {
		b.told.add(wire)
	} else {
		b.untold.add(wire)
	}
}

func (r *resting) at(i int) uint16 { return r.ring[(r.first+i)%len(r.ring)] }

func (r *resting) add(wire uint16) {
	if r.count == len(r.ring) {
		// The ring is full: turn it to its beginning and make it larger.
		larger := make([]uint16, max(64, 2*len(r.ring)))
		n := copy(larger, r.ring[r.first:])
		copy(larger[n:], r.ring[:r.first])
		r.ring, r.first = larger, 0
	}
	r.ring[(r.first+r.count)%len(r.ring)] = wire
	r.count++
}

// lose lets a number rest: its entity is gone.
func (b *book) lose(wire uint16) {
	p := &b.pages[wire]
	p.alive, p.dead = false, b.now
	if !p.queue {
		b.enqueue(wire)
	}
}

// hold notes that a view knows a number, and if it is a client's that this was
// told.
func (b *book) hold(wire uint16, told bool) {
	p := &b.pages[wire]
	p.holds++
	p.told = p.told || told
}

// tell returns the number of an entity that has one and lives, or 0: some
// client is told.
func (b *book) tell(id ID) uint16 {
	wire := b.known(id)
	if wire != 0 && !b.pages[wire].told {
		b.pages[wire].told = true
	}
	return wire
}

// letGo ends a hold. The rest begins anew, as the client has only now let go.
func (b *book) letGo(wire uint16) {
	p := &b.pages[wire]
	p.holds--
	if !p.alive {
		p.dead = b.now
	}
}

// Wire returns the number by which clients know a living entity, or 0.
func (s *Sim) Wire(id ID) uint16 { return s.book.known(id) }

// ByWire returns the living entity with a number, or 0.
func (s *Sim) ByWire(wire uint16) ID {
	if int(wire) >= len(s.book.pages) || !s.book.pages[wire].alive {
		return 0
	}
	return s.book.pages[wire].id
}
