package world

import "slices"

// Next returns the most urgent change, or nil if none is left or the tick's bytes are used
// up. It returns the same change until Take or Skip is called. The change is valid until
// the next call of Next. Left comes first, then changes by urgency. When the bytes are used
// up, the player's own entity is still told.
func (v *View) Next() *Change {
	if v.flight.full() || v.isStale() {
		return nil
	}
	if v.budget <= 0 {
		v.leaveOwn()
	} else if v.unsent > 0 {
		if c := v.nextLeft(); c != nil {
			return c
		}
	}
	p := &v.sim.public
	for len(v.queue) > 0 || len(v.rest) > 0 {
		if len(v.queue) == 0 {
			v.queue, v.rest = v.rest, nil
			heapify(v.queue)
		}
		i, at := v.queue[0].slot(), v.queue[0].at
		e := &v.entries.all[at]
		if e.born != uint32(p.slots[i].born) { // gone in an Advance without an Update
			v.queue = pop(v.queue)
			continue
		}
		v.next, v.offered = v.changeOf(i), true
		v.next.at = at
		switch {
		case !e.known:
			v.next.What, v.next.Mask = Entered, allFields(v.next.Kind)
		case v.plain:
			v.next.Mask = p.since(int(i), e.sent) | e.lost
		default:
			v.next.Mask = v.news(i, &p.slots[i], e) | e.lost
		}
		return &v.next
	}
	return nil
}

// leaveOwn leaves nothing to be told in this tick but the player's own entity, if that is not told yet.
func (v *View) leaveOwn() {
	for _, list := range [][]pressing{v.queue, v.rest} {
		for i := range list {
			if int(list[i].slot()) == v.own {
				v.queue, v.rest = list[i:i+1], nil
				return
			}
		}
	}
	v.queue, v.rest = nil, nil
}

// nextLeft returns the next departure that is to be told, if there is one.
func (v *View) nextLeft() *Change {
	for k := range v.leaving {
		if d := &v.leaving[k]; !d.sent && d.passed != v.updated {
			v.offered = true
			v.next = Change{What: Left, Kind: d.kind, Entity: d.wire, ID: v.sim.book.pages[d.wire].id, slot: d.serial}
			return &v.next
		}
	}
	return nil
}

// news returns the fields of an entity that the client is to be told as they have changed.
func (v *View) news(i uint32, s *slot, e *entry) uint64 {
	mask := v.sim.public.since(int(i), e.sent)
	if v.config.PredictTicks > 0 && s.jumped > e.sent && s.hasBody {
		// It may stand where it stood, and the client believe that it went on.
		mask |= 1<<FieldX | 1<<FieldY
	}
	if v.config.Countdowns && s.counted <= e.sent {
		mask &^= s.kind.counts
	}
	if v.config.OwnMoves && int(i) == v.own && s.hasBody {
		if s.jolted > e.sent {
			return mask | moves
		}
		return mask &^ moves
	}
	return mask
}

// Take says that the change of Next is in the open packet and takes a number of bytes.
// With ViewConfig.Reliable no packet is needed.
func (v *View) Take(bytes int) { v.take(bytes, v.config.Reliable) }

// TakeSure is Take for a change that is sent reliably, in a view whose other packets can
// be lost. Duplex sends entities that come into sight in this way, over main.
func (v *View) TakeSure(bytes int) { v.take(bytes, true) }

func (v *View) take(bytes int, sure bool) {
	if !v.offered {
		return
	}
	v.offered = false
	v.budget -= max(bytes, 0)
	switch c := &v.next; c.What {
	case Left:
		v.takeLeft(c.slot, sure)
	case Entered, Changed:
		e := &v.entries.all[c.at]
		e.sent, e.lost, e.urgency = v.updated, 0, 0
		if sure {
			e.known = true
		} else {
			v.flight.add(v, sent{at: c.at, serial: e.stamp, mask: c.Mask})
		}
		v.queue = pop(v.queue)
	}
}

// takeLeft marks a departure as told. It is found by its serial, as Acked and
// Lost may have moved it since Next.
func (v *View) takeLeft(serial uint32, sure bool) {
	k := v.departure(serial)
	if k < 0 || v.leaving[k].sent {
		return
	}
	v.leaving[k].sent = true
	v.unsent--
	if sure {
		v.forget(k)
	} else {
		v.flight.add(v, sent{at: departed, serial: serial})
	}
}

func (v *View) departure(serial uint32) int {
	return slices.IndexFunc(v.leaving, func(d departure) bool { return d.serial == serial })
}

// Skip puts off the change of Next until the next tick. It grows more urgent.
func (v *View) Skip() {
	if !v.offered {
		return
	}
	v.offered = false
	switch c := &v.next; c.What {
	case Left:
		if k := v.departure(c.slot); k >= 0 {
			v.leaving[k].passed = v.updated
		}
	case Entered, Changed:
		v.queue = pop(v.queue)
	}
}

// Open begins a packet and returns its number, from 1. Changes that are taken before the
// next Open are in this packet.
func (v *View) Open() uint64 { return v.flight.open(v) }

// Acked says that a packet has arrived. An unknown number has no effect.
func (v *View) Acked(packet uint64) { v.flight.end(v, packet, true) }

// Lost says that a packet is lost: its fields are sent again, with their newest values. An
// unknown number has no effect.
func (v *View) Lost(packet uint64) { v.flight.end(v, packet, false) }

func (v *View) settle(s *sent, arrived bool) {
	if s.at == departed {
		k := v.departure(s.serial)
		switch {
		case k < 0: // it came back in the meantime
		case arrived:
			v.forget(k)
		default:
			v.leaving[k].sent = false
			v.unsent++
		}
		return
	}
	e := &v.entries.all[s.at]
	switch {
	case e.stamp != s.serial: // of an earlier time in sight
	case !arrived:
		e.lost |= s.mask
	default:
		// Until then each packet that told of it told all of it.
		e.known = true
	}
}

// A pressing is something to be told: the greater its rank, the sooner.
type pressing struct {
	rank uint64 // urgency<<32 | ^slot
	at   uint32 // of its entry
}

func (p pressing) urgency() uint32 { return uint32(p.rank >> 32) }
func (p *pressing) slot() uint32   { return ^uint32(p.rank) }

// heapify makes a list a heap with the greatest first.
func heapify(list []pressing) {
	for i := len(list)/2 - 1; i >= 0; i-- {
		sink(list, i)
	}
}

// pop removes the greatest.
func pop(list []pressing) []pressing {
	last := len(list) - 1
	list[0] = list[last]
	list = list[:last]
	sink(list, 0)
	return list
}

func sink(list []pressing, i int) {
	for {
		child := 2*i + 1
		if child >= len(list) {
			return
		}
		if child+1 < len(list) && list[child+1].rank > list[child].rank {
			child++
		}
		if list[i].rank >= list[child].rank {
			return
		}
		list[i], list[child] = list[child], list[i]
		i = child
	}
}
