package core

import (
	"parley/internal/lend"
	"parley/internal/queue"
)

// inbox holds events until they are polled, and their bytes in one lent buffer. An idle
// connection has none.
type inbox struct {
	list  queue.Fifo[note]
	bytes []byte
}

// note is an event whose data is bytes[from:to] of the inbox.
type note struct {
	Event
	from, to int
	gone     int // of EventSynced: how many elements are told to be gone before it
}

// hasRoom reports whether a message of the peer may come in.
func (b *inbox) hasRoom() bool { return b.list.Len() < maxInboxEvents && len(b.bytes) < maxInboxBytes }

// put takes an event and a copy of its data.
func (b *inbox) put(ev Event, data []byte, lender *lend.Buffers) {
	if need := len(b.bytes) + len(data); need > cap(b.bytes) {
		grown := append(lender.Take(need)[:0], b.bytes...)
		lender.Give(b.bytes)
		b.bytes = grown
	}
	from := len(b.bytes)
	b.bytes = append(b.bytes, data...)
	b.list.Push(note{Event: ev, from: from, to: len(b.bytes)})
}

// pop returns the next event. When there is none it lets its buffer go.
func (b *inbox) pop(lender *lend.Buffers) (Event, bool) {
	if b.list.Len() == 0 {
		b.list.Trim()
		lender.Give(b.bytes)
		b.bytes = nil
		return Event{}, false
	}
	n := b.list.Pop()
	n.Data = b.bytes[n.from:n.to:n.to]
	if b.list.Len() == 0 {
		b.bytes = b.bytes[:0] // what the event has stays as it is until the next comes
	}
	return n.Event, true
}
