package timers

import "time"

// Timer is what a thing embeds to be in a Heap. Its zero value is in none.
type Timer struct {
	at   time.Time
	slot int // its place in the heap plus one; 0 if it is in none
}

// timer lets a Heap reach the Timer of its things.
func (t *Timer) timer() *Timer { return t }

// Timed is a pointer to something that embeds a Timer.
type Timed interface{ timer() *Timer }

// Heap holds things by their times. The zero value is empty.
type Heap[T Timed] struct {
	list []T
}

// First returns the thing with the earliest time, and that time.
func (h *Heap[T]) First() (thing T, at time.Time, ok bool) {
	if len(h.list) == 0 {
		return thing, at, false
	}
	return h.list[0], h.list[0].timer().at, true
}

// Set puts a thing at its time, wherever it was; without ok it takes it out.
func (h *Heap[T]) Set(thing T, at time.Time, ok bool) {
	t := thing.timer()
	switch {
	case !ok && t.slot == 0:
	case !ok:
		h.remove(t.slot - 1)
	case t.slot == 0:
		t.at = at
		h.list = append(h.list, thing)
		t.slot = len(h.list)
		h.up(t.slot - 1)
	case !at.Equal(t.at):
		t.at = at
		h.fix(t.slot - 1)
	}
}

// Len returns how many things are in the heap.
func (h *Heap[T]) Len() int { return len(h.list) }

func (h *Heap[T]) remove(i int) {
	last := len(h.list) - 1
	h.swap(i, last)
	h.list[last].timer().slot = 0
	var none T
	h.list[last] = none
	h.list = h.list[:last]
	if i < last {
		h.fix(i)
	}
}

func (h *Heap[T]) fix(i int) {
	if !h.up(i) {
		h.down(i)
	}
}

func (h *Heap[T]) before(i, j int) bool { return h.list[i].timer().at.Before(h.list[j].timer().at) }

func (h *Heap[T]) up(i int) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			return moved
		}
		h.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (h *Heap[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.list); child++ {
			if h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

func (h *Heap[T]) swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].timer().slot, h.list[j].timer().slot = i+1, j+1
}
