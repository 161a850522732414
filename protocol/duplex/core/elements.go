package core

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
)

// elements are the state that a server tells its clients: the value of each SID, and the
// order in which they last changed.
//
// That order is a log of slots. Each connection has a place in the log and is told of the
// slots behind that place, with their present values. So a slow client skips values and is
// never told an old one. The slots of one flush are in ascending order, and are also kept
// as a set: a client that keeps up finds its own slots by words of 64, not one by one.
type elements struct {
	list  []element // by slot: a SID keeps its slot for good
	slots map[int16]int32
	live  bitset
	count int      // of those that live
	large bitset   // those that no datagram holds
	dirty bitset   // changed since the last flush
	spare [][]byte // of elements that are gone: as many as ever lived at once

	log    []int32
	base   uint64 // the position of log[0]
	newest uint64 // the position of what the last flush brought
	fresh  bitset // that
}

type element struct {
	sid  int16
	pos  uint64 // its newest position in the log; older ones do not count. 0: none, or it is gone
	data []byte
	told uint64 // how often it was sent since Scene.Told
}

func newElements() elements {
	// Positions begin at 1, so that 0 is none.
	return elements{base: 1, newest: 1}
}

// head is the position that the log grows at.
func (t *elements) head() uint64 { return t.base + uint64(len(t.log)) }

// get returns a live element, or nil.
func (t *elements) get(sid int16) *element {
	slot, ok := t.slots[sid]
	if !ok || !t.live.has(slot) {
		return nil
	}
	return &t.list[slot]
}

// slotOf returns the slot of a SID, which has one from then on.
func (t *elements) slotOf(sid int16) int32 {
	slot, ok := t.slots[sid]
	if !ok {
		if t.slots == nil {
			t.slots = map[int16]int32{} // most scenes of a server may be empty
		}
		slot = int32(len(t.list))
		t.slots[sid] = slot
		t.list = append(t.list, element{sid: sid})
	}
	return slot
}

// set changes an element, or makes it. A large one is not for the feed.
func (t *elements) set(sid int16, data []byte, large bool) {
	slot := t.slotOf(sid)
	e := &t.list[slot]
	lives := t.live.has(slot)
	if lives && bytes.Equal(e.data, data) {
		return
	}
	if !lives {
		t.live.add(slot)
		t.count++
		if n := len(t.spare); n > 0 {
			e.data, t.spare = t.spare[n-1], t.spare[:n-1]
		}
	}
	e.data = append(e.data[:0], data...)
	t.dirty.add(slot)
	if large {
		t.large.add(slot)
	} else {
		t.large.remove(slot)
	}
}

// remove ends an element, and returns its slot.
func (t *elements) remove(sid int16) (slot int32, ok bool) {
	slot, ok = t.slots[sid]
	if !ok || !t.live.has(slot) {
		return 0, false
	}
	e := &t.list[slot]
	t.spare = append(t.spare, e.data[:0])
	e.pos, e.data = 0, nil
	t.live.remove(slot)
	t.count--
	return slot, true
}

// flush puts what has changed into the log.
func (t *elements) flush() {
	t.newest = t.head()
	t.fresh, t.dirty = t.dirty, t.fresh
	clear(t.dirty)
	for w, word := range t.fresh {
		for ; word != 0; word &= word - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(word))
			if t.live.has(slot) {
				t.list[slot].pos = t.head()
				t.log = append(t.log, slot)
			}
		}
	}
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
func (t *elements) crowded() bool { return len(t.log) > 2*t.count+64 }

// compact takes out what does not count, and returns a function that says where a place in
// the old log is in the new.
func (t *elements) compact() (moved func(pos uint64) uint64) {
	var slots []int32
	var old []uint64 // positions of those
	for i, slot := range t.log {
		if pos := t.base + uint64(i); t.list[slot].pos == pos {
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
	moved = func(pos uint64) uint64 {
		return base + uint64(sort.Search(len(old), func(i int) bool { return old[i] >= pos }))
	}
	t.newest = moved(t.newest)
	return moved
}

// bitset is a set of slots.
type bitset []uint64

// word returns the 64 slots from 64w on.
func (s bitset) word(w int) uint64 {
	if w < len(s) {
		return s[w]
	}
	return 0
}

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
