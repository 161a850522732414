package queue

import "unsafe"

// PacketOverhead is the memory of a packet besides its buffer: its slot in the queue. Growing
// doubles the queue, so a packet may take two slots.
const PacketOverhead = 2 * int(unsafe.Sizeof([]byte(nil)))

// Lender takes back the buffer of a packet: lend.Buffers, or a type that embeds it.
type Lender interface{ Give(b []byte) }

// Packets is a queue of packets in lent buffers. A single packet, the usual case, is stored in
// the queue itself, without an allocation. The zero value is empty.
type Packets struct {
	first []byte        // the oldest, nil if none waits
	rest  *Fifo[[]byte] // set once there were two packets
	held  int
}

// Len returns the number of packets.
func (q *Packets) Len() int {
	switch {
	case q.first == nil:
		return 0
	case q.rest == nil:
		return 1
	}
	return 1 + q.rest.Len()
}

// Held returns the memory of all packets: their whole buffers, and their slots in the queue. A
// bound on the sum of their lengths would let tiny packets hold many times as much.
func (q *Packets) Held() int { return q.held }

// First returns the oldest packet, which must exist.
func (q *Packets) First() []byte { return q.first }

// Put puts a packet at the end. The queue owns its buffer from now on. It must not be nil.
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

// Pop removes the oldest packet, which must exist. The caller owns its buffer.
func (q *Packets) Pop() []byte {
	b := q.first
	q.held -= cap(b) + PacketOverhead
	if q.first = nil; q.rest != nil && q.rest.Len() > 0 {
		q.first = q.rest.Pop()
		q.rest.Trim()
	}
	return b
}

// Drop removes the oldest packet, which must exist, and gives its buffer back.
func (q *Packets) Drop(lender Lender) { lender.Give(q.Pop()) }

// MoveTo copies the oldest packet into buf and removes it. It returns false if there is none.
func (q *Packets) MoveTo(buf []byte, lender Lender) (int, bool) {
	if q.first == nil {
		return 0, false
	}
	n := copy(buf, q.first)
	q.Drop(lender)
	return n, true
}

// Clear removes all packets.
func (q *Packets) Clear(lender Lender) {
	for q.Len() > 0 {
		q.Drop(lender)
	}
}
