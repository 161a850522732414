package timers

import "time"

// Timer is embedded in an item of a Heap. Its zero value is in no heap.
type Timer struct {
	at time.Duration // its time, if it is in a heap
	id int32         // its id in the heap, plus one; 0 if it is in none
}

// timer lets a Heap reach the Timer of an item.
func (t *Timer) timer() *Timer { return t }

// Timed is a pointer to something that embeds a Timer.
type Timed interface{ timer() *Timer }

// Heap holds items by their times. The zero value is empty.
//
// An item's own memory is not touched while others move: with thousands of items it is
// cold, and reading it would cost more than the rest.
type Heap[T Timed] struct {
	base   time.Time // times are kept as durations since then
	list   []entry   // each before its four children
	slots  []int32   // by id: the item's place in list, or for a free id the next free id plus one
	things []T       // by id
	free   int32     // the first free id, plus one
}

type entry struct {
	at time.Duration
	id int32
}

// First returns the item with the earliest time, and that time.
func (h *Heap[T]) First() (thing T, at time.Time, ok bool) {
	if len(h.list) == 0 {
		return thing, at, false
	}
	first := &h.list[0]
	return h.things[first.id], h.base.Add(first.at), true
}

// Set sets the time of an item, and adds the item if it is not in the heap. If ok is
// false, it removes the item.
func (h *Heap[T]) Set(thing T, at time.Time, ok bool) {
	t := thing.timer()
	if !ok {
		if t.id != 0 {
			h.remove(t.id - 1)
			t.id = 0
		}
		return
	}
	if h.base.IsZero() {
		h.base = at
	}
	e := entry{at.Sub(h.base), t.id - 1}
	if t.id == 0 {
		e.id = h.add(thing)
		t.id, t.at = e.id+1, e.at
		h.list = append(h.list, e)
		h.up(len(h.list)-1, e)
		return
	}
	if t.at != e.at {
		t.at = e.at
		h.fix(int(h.slots[e.id]), e)
	}
}

// Len returns the number of items in the heap.
func (h *Heap[T]) Len() int { return len(h.list) }

// add gives an item its id.
func (h *Heap[T]) add(thing T) int32 {
	if h.free > 0 {
		id := h.free - 1
		h.free = h.slots[id]
		h.things[id] = thing
		return id
	}
	h.things = append(h.things, thing)
	h.slots = append(h.slots, 0)
	return int32(len(h.things) - 1)
}

func (h *Heap[T]) remove(id int32) {
	var none T
	h.things[id] = none
	end := len(h.list) - 1
	last := h.list[end]
	h.list = h.list[:end]
	if last.id != id {
		h.fix(int(h.slots[id]), last)
	}
	h.slots[id], h.free = h.free, id+1
}

// fix puts e at i, or up or down from there to where it belongs.
func (h *Heap[T]) fix(i int, e entry) {
	if !h.up(i, e) {
		h.down(i, e)
	}
}

func (h *Heap[T]) put(i int, e entry) {
	h.list[i] = e
	h.slots[e.id] = int32(i)
}

// up puts e at i or at the place of one of its ancestors, which move down.
func (h *Heap[T]) up(i int, e entry) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 4
		if h.list[parent].at <= e.at {
			break
		}
		h.put(i, h.list[parent])
		i, moved = parent, true
	}
	h.put(i, e)
	return moved
}

// down puts e at i or at the place of one of its descendants, which move up.
func (h *Heap[T]) down(i int, e entry) {
	for first := 4*i + 1; first < len(h.list); first = 4*i + 1 {
		least := first
		for child := first + 1; child < min(first+4, len(h.list)); child++ {
			if h.list[child].at < h.list[least].at {
				least = child
			}
		}
		if e.at <= h.list[least].at {
			break
		}
		h.put(i, h.list[least])
		i = least
	}
	h.put(i, e)
}
