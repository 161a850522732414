package duplex

import (
	"bytes"
	"slices"
	"sort"
)

// elements are what a server tells its clients about: the value of each SID, and the
// order in which they last changed.
//
// That order is a log of slots. Each connection has a place in it and is told of what
// lies behind that, as it is when it is told: who is slow skips values and is never
// told an old one.
type elements struct {
	list  []element // by slot: a SID keeps its slot for good
	slots map[int16]int32
	live  int
	dirty []int32  // changed since the last flush
	spare [][]byte // of elements that are gone: as many as ever lived at once

	log  []int32
	base uint64 // the position of log[0]
}

type element struct {
	sid   int16
	live  bool
	dirty bool
	pos   uint64 // its newest position in the log; older ones do not count
	data  []byte
}

func newElements() *elements {
	// Positions begin at 1, so that 0 is none.
	return &elements{slots: map[int16]int32{}, base: 1}
}

// head is the position that the log grows at.
func (t *elements) head() uint64 { return t.base + uint64(len(t.log)) }

// at returns the slot of a position below head, and whether nothing newer is behind it.
func (t *elements) at(pos uint64) (slot int32, newest bool) {
	if pos < t.base {
		panic("duplex: a place in the log that is gone")
	}
	slot = t.log[pos-t.base]
	e := &t.list[slot]
	return slot, e.live && e.pos == pos
}

// get returns a live element, or nil.
func (t *elements) get(sid int16) *element {
	slot, ok := t.slots[sid]
	if !ok || !t.list[slot].live {
		return nil
	}
	return &t.list[slot]
}

// set changes an element, or makes it.
func (t *elements) set(sid int16, data []byte) {
	slot, ok := t.slots[sid]
	if !ok {
		slot = int32(len(t.list))
		t.slots[sid] = slot
		t.list = append(t.list, element{sid: sid})
	}
	e := &t.list[slot]
	if e.live && bytes.Equal(e.data, data) {
		return
	}
	if !e.live {
		e.live = true
		t.live++
		if n := len(t.spare); n > 0 {
			e.data, t.spare = t.spare[n-1], t.spare[:n-1]
		}
	}
	e.data = append(e.data[:0], data...)
	if !e.dirty {
		e.dirty = true
		t.dirty = append(t.dirty, slot)
	}
}

// remove ends an element, and returns its slot.
func (t *elements) remove(sid int16) (slot int32, ok bool) {
	slot, ok = t.slots[sid]
	if !ok || !t.list[slot].live {
		return 0, false
	}
	e := &t.list[slot]
	t.spare = append(t.spare, e.data[:0])
	e.live, e.pos, e.data = false, 0, nil
	t.live--
	return slot, true
}

// flush puts what has changed into the log, and reports whether anything has.
func (t *elements) flush() bool {
	if len(t.dirty) == 0 {
		return false
	}
	for _, slot := range t.dirty {
		e := &t.list[slot]
		e.dirty = false
		if !e.live {
			continue
		}
		e.pos = t.head()
		t.log = append(t.log, slot)
	}
	t.dirty = t.dirty[:0]
	return true
}

// trim forgets what all have been told: everything below the least place of any.
func (t *elements) trim(least uint64) {
	if n := int(least - t.base); n > 0 {
		t.log = t.log[:copy(t.log, t.log[n:])]
		t.base = least
	}
}

// crowded reports whether most of the log does not count any more, because somebody
// is far behind. It is then as long as the elements are many, and so never longer than
// three times that.
func (t *elements) crowded() bool { return len(t.log) > 2*t.live+64 }

// compact takes out what does not count, and returns a function that says where a place in
// the old log is in the new.
func (t *elements) compact() (moved func(pos uint64) uint64) {
	var slots []int32
	var old []uint64 // positions of those
	for i, slot := range t.log {
		if pos := t.base + uint64(i); t.list[slot].live && t.list[slot].pos == pos {
			slots, old = append(slots, slot), append(old, pos)
		}
	}
	// It ends where it ended, so that no place is beyond it.
	t.base = t.head() - uint64(len(slots))
	t.log = slots
	for i, slot := range slots {
		t.list[slot].pos = t.base + uint64(i)
	}
	base := t.base
	return func(pos uint64) uint64 {
		return base + uint64(sort.Search(len(old), func(i int) bool { return old[i] >= pos }))
	}
}

// bitset is a set of slots.
type bitset []uint64

func (s bitset) has(slot int32) bool {
	return int(slot>>6) < len(s) && s[slot>>6]>>(slot&63)&1 != 0
}

func (s *bitset) add(slot int32) {
	if n := int(slot>>6) + 1; n > len(*s) {
		*s = slices.Grow(*s, n-len(*s))[:n]
	}
	(*s)[slot>>6] |= 1 << (slot & 63)
}

func (s bitset) remove(slot int32) {
	if int(slot>>6) < len(s) {
		s[slot>>6] &^= 1 << (slot & 63)
	}
}
