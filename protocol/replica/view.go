package replica

import (
	"encoding/binary"
	"errors"
	"time"

	"parley/internal/reliable"
)

// ErrNoSlot means that a client sees 256 entities of a kind already.
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
	going    []*slot  // to be announced as gone
	batches  []batch
	free     []int
	buf      []byte
}

type slots struct {
	used  [256]*slot
	next  uint8
	spare []*slot // that clients know to be gone, to be used again
}

// slot is a place of a kind in one client's view. It is taken from Show until the
// client has acknowledged that the entity is gone.
type slot struct {
	entity *Entity
	kind   uint16
	id     uint8
	index  int // in order

	// Unless the view is together:
	sent []uint64 // version of each variable as sent last, or a newer one of the Store; 0 if lost or never
	upto uint64   // entity.version when all was sent and nothing lost since
}

// batch is what one packet carried: values, or slots that are gone.
type batch struct {
	cargo *cargo
	gone  []*slot
	used  bool
}

// Show lets the client see an entity, or says that its kind has no slot left.
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
		s := ks.take(len(e.versions))
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

// take returns a slot of which nothing was sent. A packet that is still under way may have carried
// values of whoever had it before: no value has a version that another ever had, so what becomes of
// that packet is of no account to the next.
func (ks *slots) take(variables int) *slot {
	n := len(ks.spare)
	if n == 0 {
		return &slot{sent: make([]uint64, variables)}
	}
	s := ks.spare[n-1]
	ks.spare = ks.spare[:n-1]
	clear(s.sent)
	*s = slot{sent: s.sent}
	return s
}

// Hide takes an entity out of the client's sight.
func (c *Conn) Hide(e *Entity) {
	if c.view == nil {
		return
	}
	if s := c.view.seen[e]; s != nil {
		c.view.hide(s)
	}
}

// Sees returns the id under which the client sees an entity.
func (c *Conn) Sees(e *Entity) (id uint8, ok bool) {
	if c.view == nil || c.view.seen[e] == nil {
		return 0, false
	}
	return c.view.seen[e].id, true
}

func (v *view) hide(s *slot) {
	delete(v.seen, s.entity)
	v.shape -= s.entity.store.place(s)
	last := v.order[len(v.order)-1]
	v.order[s.index] = last
	last.index = s.index
	v.order = v.order[:len(v.order)-1]
	s.entity = nil
	v.going = append(v.going, s)
}

func (c *Conn) openView() *view {
	if c.view == nil {
		c.view = &view{kinds: map[uint16]*slots{}, seen: map[*Entity]*slot{}}
	}
	return c.view
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

// sendGone announces slots that were left: "a reliable, unordered message named
// `parley.gone`, one or more of (entity link id u16, entity id u8)".
func (c *Conn) sendGone(now time.Time) {
	v := c.view
	for len(v.going) > 0 {
		n := min(len(v.going), (maxPacketBytes-messageOverhead-len(goneName))/goneBytes)
		data := v.buf[:0]
		for _, s := range v.going[:n] {
			data = binary.LittleEndian.AppendUint16(data, s.kind)
			data = append(data, s.id)
		}
		v.buf = data
		p := Packet{Kind: KindMessage, Reliable: true, Sequence: uint16(c.sender.Next()), Time: c.ServerTime(now), Name: []byte(goneName), Data: data}
		tag := v.newBatch()
		b := &v.batches[tag]
		b.gone = append(b.gone[:0], v.going[:n]...)
		if c.sendReliable(now, &p, messageOverhead+len(goneName)+len(data), reliable.Options{Tag: uint32(tag) + 1}) != nil {
			v.endBatch(tag)
			return
		}
		v.going = append(v.going[:0], v.going[n:]...)
	}
}

const (
	goneName  = "parley.gone"
	goneBytes = 3
)

func (v *view) newBatch() int {
	if n := len(v.free); n > 0 {
		tag := v.free[n-1]
		v.free = v.free[:n-1]
		v.batches[tag].used = true
		return tag
	}
	v.batches = append(v.batches, batch{used: true})
	return len(v.batches) - 1
}

func (v *view) endBatch(tag int) {
	b := &v.batches[tag]
	clear(b.gone)
	b.cargo, b.gone, b.used = nil, b.gone[:0], false
	v.free = append(v.free, tag)
}

// settled takes the fate of a packet that carried values or slots that are gone.
func (e *Endpoint) settled(tag int, arrived bool) {
	v := e.view
	b := &v.batches[tag]
	if !arrived && b.cargo != nil {
		v.again(e.store, b.cargo)
	}
	for _, s := range b.gone {
		// "the server reuses a slot only after the message is acknowledged"
		if ks := v.kinds[s.kind]; arrived && ks.used[s.id] == s {
			ks.used[s.id] = nil
			ks.spare = append(ks.spare, s)
		}
	}
	e.store.cargos.give(b.cargo)
	v.endBatch(tag)
}

// again makes those values that a lost packet carried and that are still the newest be sent once
// more. A newer one was sent since, or is about to be. No value has a version that another ever
// had, so a slot that is someone else's by now is left alone.
func (v *view) again(store *Store, lost *cargo) {
	for _, x := range lost.values {
		if x.kind == ofTheGame {
			if store.variables[x.variable].version == x.version {
				v.part()
				v.sent[x.variable] = 0
			}
			continue
		}
		s := v.kinds[x.kind].used[x.id]
		if s != nil && s.entity != nil && s.entity.versions[x.variable] == x.version {
			v.part()
			s.sent[x.variable], s.upto = 0, 0
		}
	}
}
