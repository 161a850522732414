package core

import (
	"encoding/binary"
	"slices"
)

// told is what newer messages in a queue say of an entity.
type told struct {
	has   Has
	pairs map[uint16]struct{} // attributes
}

// coalesce takes out of the queue what newer entity updates in it say again: "entity
// updates in it are coalesced to the newest state". A field is dropped from an update if a
// later one of the same entity sets it too; so each tick still says what was true then, and
// no update passes the creation or the end of its entity.
func (o *outbox) coalesce(c *Codec, s *Shared) {
	keep := 0
	if o.read > 0 {
		keep = 1 // it is being written
	}
	frames := make([]*frame, 0, o.list.Len())
	for o.list.Len() > 0 {
		frames = append(frames, o.list.Pop())
	}
	newer := map[uint16]*told{}
	o.held = 0
	for i := len(frames) - 1; i >= keep; i-- {
		f := frames[i]
		switch f.kind {
		case KindEntitiesUpdate:
			frames[i] = c.reduce(f, newer, s)
		case KindEntityCreate:
			// What is older is of another entity that had this id.
			delete(newer, entityOf(f))
		case KindEntityDestroy:
			// What is older, up to its creation, nobody needs.
			newer[entityOf(f)] = &told{has: hasAll}
		}
	}
	for _, f := range frames {
		if f != nil {
			o.list.Push(f)
			o.held += len(f.b) + frameOverhead
		}
	}
	o.coalesceAt = max(firstCoalesce, 2*o.held)
}

// entityOf returns the id that follows type and tick.
func entityOf(f *frame) uint16 { return binary.BigEndian.Uint16(f.b[3:]) }

// reduce returns an entities_update without what newer ones say, nil if that is all of it, and
// notes what it says itself.
func (c *Codec) reduce(f *frame, newer map[uint16]*told, s *Shared) *frame {
	var m Message
	c.fill(&m, f.b)
	var kept []Entity
	for e := range m.Entities.All() {
		kept = append(kept, *e)
	}
	changed := false
	for i := len(kept) - 1; i >= 0; i-- {
		e := &kept[i]
		t := newer[e.ID]
		if t == nil {
			t = &told{}
			newer[e.ID] = t
		}
		if c.subtract(e, t) {
			changed = true
		}
	}
	kept = slices.DeleteFunc(kept, func(e Entity) bool { return e.Has == 0 })
	if !changed {
		return f
	}
	var fresh *frame
	if len(kept) > 0 {
		list, _ := c.Entities(kept...) // fewer than there were
		fresh = s.frame(c, &Message{Kind: KindEntitiesUpdate, Tick: m.Tick, Entities: list})
	}
	s.release(f)
	return fresh
}

// subtract takes out of an update what newer ones say, notes the rest, and reports whether
// anything was taken out.
func (c *Codec) subtract(e *Entity, t *told) (changed bool) {
	was, pairs := e.Has, e.Attributes.count
	ended := t.has == hasAll // what is noted of others is without HasObject
	e.Has &^= t.has &^ HasObject
	t.has |= was &^ HasObject
	switch {
	case ended:
		e.Has = 0
	case was&HasObject != 0:
		e.subtractPairs(t)
		if e.Has&HasObject != 0 && c.Of(e.Type) != c {
			e.Has |= was & HasType // without it the pairs could not be read
		}
	}
	return e.Has != was || e.Attributes.count != pairs
}

// subtractPairs takes out the attributes that newer updates say, and notes the rest.
func (e *Entity) subtractPairs(t *told) {
	var kept []Attribute
	pairs := slices.Collect(func(yield func(Attribute) bool) {
		for id, v := range e.Attributes.All() {
			if !yield(Attribute{id, v}) {
				return
			}
		}
	})
	if t.pairs == nil {
		t.pairs = map[uint16]struct{}{}
	}
	for _, p := range slices.Backward(pairs) { // the last of two counts
		if _, again := t.pairs[p.ID]; !again {
			t.pairs[p.ID] = struct{}{}
			kept = append(kept, p)
		}
	}
	if len(kept) == len(pairs) {
		return
	}
	slices.Reverse(kept)
	e.Attributes, _ = e.Attributes.codec.Attributes(kept...) // which were in it before
	if len(kept) == 0 {
		e.Has &^= HasObject
	}
}
