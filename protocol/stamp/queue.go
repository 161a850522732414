package stamp

import "parley/internal/reliable"

// fifo is a queue: first in, first out. It allocates only to grow. The zero value
// is empty.
type fifo[T any] struct {
	list []T
	head int
}

func (q *fifo[T]) len() int { return len(q.list) - q.head }

// first returns the oldest element, which must exist.
func (q *fifo[T]) first() *T { return &q.list[q.head] }

func (q *fifo[T]) push(v T) {
	if len(q.list) == cap(q.list) && q.head > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, v)
}

// pop removes the oldest element and returns it.
func (q *fifo[T]) pop() T {
	var zero T
	v := q.list[q.head]
	q.list[q.head] = zero
	if q.head++; q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return v
}

// trim lets go of the memory of an empty queue that was long: a burst must not make a
// connection large for the rest of its life.
func (q *fifo[T]) trim() {
	const kept = 64
	if len(q.list) == 0 && cap(q.list) > kept {
		q.list = nil
	}
}

// packets is a queue of packets in lent buffers.
type packets struct {
	fifo[[]byte]
	bytes int
}

func (q *packets) put(b []byte) {
	q.push(b)
	q.bytes += len(b)
}

// drop lets the oldest packet go.
func (q *packets) drop(lender *reliable.Buffers) {
	b := q.pop()
	q.trim()
	q.bytes -= len(b)
	lender.Give(b)
}

// moveTo copies the oldest packet into buf and lets it go.
func (q *packets) moveTo(buf []byte, lender *reliable.Buffers) (int, bool) {
	if q.len() == 0 {
		return 0, false
	}
	n := copy(buf, *q.first())
	q.drop(lender)
	return n, true
}

// clear lets all go.
func (q *packets) clear(lender *reliable.Buffers) {
	for q.len() > 0 {
		q.drop(lender)
	}
}
