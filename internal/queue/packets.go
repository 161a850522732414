package queue

import (
	"unsafe"

	"parley/internal/reliable"
)

// PacketOverhead is what a packet holds beside its buffer: its place in the queue.
// Growing doubles the queue, so a packet may have two.
const PacketOverhead = 2 * int(unsafe.Sizeof([]byte(nil)))

// Packets is a queue of packets in lent buffers. One that waits alone, as most do, waits in the
// queue itself, without another place in memory. The zero value is empty.
type Packets struct {
	first []byte        // the oldest, nil if none waits
	rest  *Fifo[[]byte] // once there were two
	held  int
}

// Len returns how many packets wait.
func (q *Packets) Len() int {
	switch {
	case q.first == nil:
		return 0
	case q.rest == nil:
		return 1
	}
	return 1 + q.rest.Len()
}

// Held returns the memory of all that wait: their whole buffers, and what the queue
// needs to know them by. A bound on the sum of their lengths would let tiny packets hold
// many times it.
func (q *Packets) Held() int { return q.held }

// First returns the oldest packet, which must exist.
func (q *Packets) First() []byte { return q.first }

// Put puts a packet at the end. Its buffer is the queue's from now on, and must not be nil.
func (q *Packets) Put(b []byte) {
	q.held += cap(b) + PacketOverhead
	if q.first == nil {
		q.first = b
		return
	}
	if q.rest == nil {
		q.rest = new(Fifo[[]byte])
	}
	q.rest.Push(b)
}

// Pop removes the oldest packet, which must exist. Its buffer is the caller's.
func (q *Packets) Pop() []byte {
	b := q.first
	q.held -= cap(b) + PacketOverhead
	if q.first = nil; q.rest != nil && q.rest.Len() > 0 {
		q.first = q.rest.Pop()
		q.rest.Trim()
	}
	return b
}

// Drop lets the oldest packet go, which must exist.
func (q *Packets) Drop(lender *reliable.Buffers) { lender.Give(q.Pop()) }

// MoveTo copies the oldest packet into buf and lets it go. It reports false if there
// is none.
func (q *Packets) MoveTo(buf []byte, lender *reliable.Buffers) (int, bool) {
	if q.first == nil {
		return 0, false
	}
	n := copy(buf, q.first)
	q.Drop(lender)
	return n, true
}

// Clear lets all go.
func (q *Packets) Clear(lender *reliable.Buffers) {
	for q.Len() > 0 {
		q.Drop(lender)
	}
}
