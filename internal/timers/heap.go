package timers

import "time"

// Timer is what a thing embeds to be in a Heap. Its zero value is in none.
type Timer struct {
	slot int32 // its place in the heap plus one; 0 if it is in none
}

// timer lets a Heap reach the Timer of its things.
func (t *Timer) timer() *Timer { return t }

// Timed is a pointer to something that embeds a Timer.
type Timed interface{ timer() *Timer }

// Heap holds things by their times. The zero value is empty.
//
// The times are in the heap itself, four children to a parent, and not with the things:
// those of a thousand connections are in no cache, and to look at them was most of what
// setting a timer took.
type Heap[T Timed] struct {
	list []entry[T]
}

type entry[T Timed] struct {
	at    time.Time
	thing T
}

// arity is how many children a parent has.
const arity = 4

// First returns the thing with the earliest time, and that time.
func (h *Heap[T]) First() (thing T, at time.Time, ok bool) {
	if len(h.list) == 0 {
		return thing, at, false
	}
	return h.list[0].thing, h.list[0].at, true
}

// Set puts a thing at its time, wherever it was; without ok it takes it out.
func (h *Heap[T]) Set(thing T, at time.Time, ok bool) {
	t := thing.timer()
	switch {
	case !ok && t.slot == 0:
	case !ok:
		h.remove(int(t.slot) - 1)
		t.slot = 0
	case t.slot == 0:
		h.list = append(h.list, entry[T]{})
		h.up(len(h.list)-1, entry[T]{at, thing})
	default:
		h.fix(int(t.slot)-1, entry[T]{at, thing})
	}
}

// Len returns how many things are in the heap.
func (h *Heap[T]) Len() int { return len(h.list) }

func (h *Heap[T]) remove(i int) {
	end := len(h.list) - 1
	last := h.list[end]
	h.list[end] = entry[T]{}
	h.list = h.list[:end]
	if i < end {
		h.fix(i, last)
	}
}

// fix puts an entry where it belongs, given the place i that is free for it.
func (h *Heap[T]) fix(i int, e entry[T]) {
	if i > 0 && e.at.Before(h.list[(i-1)/arity].at) {
		h.up(i, e)
		return
	}
	h.down(i, e)
}

// up moves the free place i towards the top until e may have it.
func (h *Heap[T]) up(i int, e entry[T]) {
	for i > 0 {
		parent := (i - 1) / arity
		if !e.at.Before(h.list[parent].at) {
			break
		}
		h.put(i, h.list[parent])
		i = parent
	}
	h.put(i, e)
}

// down moves the free place i towards the leaves until e may have it.
func (h *Heap[T]) down(i int, e entry[T]) {
	for {
		first := arity*i + 1
		if first >= len(h.list) {
			break
		}
		least := first
		for child := first + 1; child < min(first+arity, len(h.list)); child++ {
			if h.list[child].at.Before(h.list[least].at) {
				least = child
			}
		}
		if !h.list[least].at.Before(e.at) {
			break
		}
		h.put(i, h.list[least])
		i = least
	}
	h.put(i, e)
}

func (h *Heap[T]) put(i int, e entry[T]) {
	h.list[i] = e
	e.thing.timer().slot = int32(i) + 1
}
