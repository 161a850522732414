package queue

import (
	"unsafe"

	"parley/internal/reliable"
)

// PacketOverhead is what a packet holds beside its buffer: its place in the queue.
// Growing doubles the queue, so a packet may have two.
const PacketOverhead = 2 * int(unsafe.Sizeof([]byte(nil)))

// Packets is a queue of packets in lent buffers. The zero value is empty.
type Packets struct {
	fifo Fifo[[]byte]
	held int
}

// Len returns how many packets wait.
func (q *Packets) Len() int { return q.fifo.Len() }

// Held returns the memory of all that wait: their whole buffers, and what the queue
// needs to know them by. A bound on the sum of their lengths would let tiny packets hold
// many times it.
func (q *Packets) Held() int { return q.held }

// First returns the oldest packet, which must exist.
func (q *Packets) First() []byte { return *q.fifo.First() }

// Put puts a packet at the end. Its buffer is the queue's from now on.
func (q *Packets) Put(b []byte) {
	q.fifo.Push(b)
	q.held += cap(b) + PacketOverhead
}

// Pop removes the oldest packet, which must exist. Its buffer is the caller's.
func (q *Packets) Pop() []byte {
	b := q.fifo.Pop()
	q.fifo.Trim()
	q.held -= cap(b) + PacketOverhead
	return b
}

// Drop lets the oldest packet go, which must exist.
func (q *Packets) Drop(lender *reliable.Buffers) { lender.Give(q.Pop()) }

// MoveTo copies the oldest packet into buf and lets it go. It reports false if there
// is none.
func (q *Packets) MoveTo(buf []byte, lender *reliable.Buffers) (int, bool) {
	if q.Len() == 0 {
		return 0, false
	}
	n := copy(buf, q.First())
	q.Drop(lender)
	return n, true
}

// Clear lets all go.
func (q *Packets) Clear(lender *reliable.Buffers) {
	for q.Len() > 0 {
		q.Drop(lender)
	}
}
