package queue

import "unsafe"

// Fifo is a queue: first in, first out. It allocates only to grow, and reuses the room of
// removed elements. The zero value is empty.
type Fifo[T any] struct {
	list  []T
	head  int32
	quiet int32 // times in a row that it became empty without using a quarter of its room
}

// Len returns the number of elements.
func (q *Fifo[T]) Len() int { return len(q.list) - int(q.head) }

// First returns the oldest element, which must exist. It is valid until the next
// Push or Pop.
func (q *Fifo[T]) First() *T { return &q.list[q.head] }

// At returns the i-th element from the oldest on, which must exist. It is valid until
// the next Push or Pop.
func (q *Fifo[T]) At(i int) *T { return &q.list[int(q.head)+i] }

// Push puts an element at the end.
func (q *Fifo[T]) Push(v T) {
	if len(q.list) == cap(q.list) && int(q.head) > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, v)
}

// Pop removes the oldest element, which must exist, and returns it.
func (q *Fifo[T]) Pop() T {
	var zero T
	v := q.list[q.head]
	q.list[q.head] = zero
	if q.head++; int(q.head) == len(q.list) {
		if q.quiet++; 4*len(q.list) > cap(q.list) {
			q.quiet = 0
		}
		q.list, q.head = q.list[:0], 0
	}
	return v
}

// Trim frees the memory of an empty queue that was long: a burst must not make a connection large
// for the rest of its life. A queue that is long now and then, for example when many players
// speak in one tick, keeps its memory if that is small.
func (q *Fifo[T]) Trim() {
	const (
		kept      = 64      // elements of room that are always kept
		keptBytes = 4 << 10 // bytes that are kept while the queue uses them
		patience  = 1024
	)
	n := cap(q.list)
	if len(q.list) > 0 || n <= kept {
		return
	}
	var one T
	if q.quiet >= patience || n*int(unsafe.Sizeof(one)) > keptBytes {
		*q = Fifo[T]{}
	}
}
