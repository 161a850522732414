package core

import "errors"

// ErrNoSlot means that a client already sees 256 entities of a kind.
var ErrNoSlot = errors.New("replica: no slot: a client sees at most 256 entities of a kind")

// view is what one client sees: slots of its own for each kind, and which version of
// each value was sent last. "A client that falls silent costs no more than one value a
// variable."
//
// A view is together while one version says it for all values: everything up to base was
// sent and nothing that still counts was lost. Views that are together, have one base and
// the same entities in the same slots lack the same, which is written once for all of
// them (frame.go). One that is not together keeps a version a value.
type view struct {
	kinds    map[uint16]*slots
	seen     map[*Entity]*slot
	order    []*slot // all that are shown, to go round
	at       int     // where the last round ended
	together bool
	base     uint64   // of the Store, while together
	shape    uint64   // which entities are in which slots: a sum of Store.place
	removed  uint64   // how many of the Store's removals were swept
	sent     []uint64 // of the variables of the game, by link, unless together
	going    *slot    // to be announced as gone
	batch    uint32   // the newest that is under way, 0 if none is: see batches
	told     uint64   // the version of the Store at the last Replicate
	answer   answer   // what is told again
	watch    watch    // see Conn.Knows
	most     int      // bytes of a packet of values
}

type slots struct {
	used [256]*slot
	next uint8
}

// slot is a place of a kind in one client's view. It is taken from Show until the
// client has acknowledged that the entity is gone.
type slot struct {
	entity *Entity
	behind *slot // the next of those that are going, of one batch, or spare
	index  int   // in order
	kind   uint16
	id     uint8

	urgency uint32 // of what is lacking, on a narrow path: see view_narrow.go

	// Unless the view is together:
	sent []uint64 // version of each variable as sent last, or a newer one of the Store; 0 if lost or never
	upto uint64   // entity.version when all was sent and nothing lost since
}

// Show brings an entity into the client's sight. It returns ErrNoSlot if the client already
// sees 256 entities of the kind.
func (c *Conn) Show(e *Entity) error {
	v := c.openView()
	if v.seen[e] != nil || e.removed {
		return nil
	}
	ks := v.kinds[e.kind]
	if ks == nil {
		ks = new(slots)
		v.kinds[e.kind] = ks
	}
	for range len(ks.used) {
		id := ks.next
		ks.next++
		if ks.used[id] != nil {
			continue
		}
		s := c.endpoint.store.takeSlot(e.kind)
		s.entity, s.kind, s.id, s.index = e, e.kind, id, len(v.order)
		ks.used[id] = s
		v.part() // all of it is lacking, however old
		v.shape += e.store.place(s)
		v.seen[e] = s
		v.order = append(v.order, s)
		return nil
	}
	return ErrNoSlot
}

// Hide takes an entity out of the client's sight.
func (c *Conn) Hide(e *Entity) {
	if c.endpoint.view == nil {
		return
	}
	if s := c.endpoint.view.seen[e]; s != nil {
		c.endpoint.view.hide(s)
	}
}

// Sees returns the id by which the client knows an entity, and whether it is in sight.
func (c *Conn) Sees(e *Entity) (id uint8, ok bool) {
	if c.endpoint.view == nil || c.endpoint.view.seen[e] == nil {
		return 0, false
	}
	return c.endpoint.view.seen[e].id, true
}

func (v *view) hide(s *slot) {
	if v.watch.slot == s {
		v.watch.slot = nil
	}
	delete(v.seen, s.entity)
	v.shape -= s.entity.store.place(s)
	last := v.order[len(v.order)-1]
	v.order[s.index] = last
	last.index = s.index
	v.order = v.order[:len(v.order)-1]
	s.entity = nil
	s.behind, v.going = v.going, s
}

func (c *Conn) openView() *view {
	if c.endpoint.view == nil {
		c.endpoint.view = &view{most: c.endpoint.most(), kinds: map[uint16]*slots{}, seen: map[*Entity]*slot{}}
	}
	return c.endpoint.view
}

// part ends being together: each value has a version of its own from now on.
func (v *view) part() {
	if !v.together {
		return
	}
	v.together = false
	for _, s := range v.order {
		for i := range s.sent {
			s.sent[i] = v.base
		}
		s.upto = v.base
	}
	for i := range v.sent {
		v.sent[i] = v.base
	}
}

// sweep hides what was removed since it was called last.
func (v *view) sweep(store *Store) {
	if v.removed == store.removed {
		return
	}
	v.removed = store.removed
	for i := len(v.order) - 1; i >= 0; i-- {
		if v.order[i].entity.removed {
			v.hide(v.order[i])
		}
	}
}
