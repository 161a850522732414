package datagram

import (
	"net/netip"

	"parley/internal/way"
)

// Message is one datagram that was received.
type Message struct {
	// From is the sender's address. It may be forged.
	From netip.AddrPort

	// Data is the payload. It is a view into the batch: see RecvBatch.
	Data []byte

	// Gone says that nothing comes from this address any more, as the session has ended that had it. There is no Data.
	Gone bool
}

// RecvBatch holds the datagrams of one read.
//
// A carrier fills it with Clear and Add, and owns the buffers. Then Next returns each
// datagram once, in the order of arrival. A *Message is valid until the next call of
// Next, and its Data until the carrier reads again or is closed: copy bytes that are to
// be kept. The caller may overwrite Data. An append to it makes a copy, as its capacity is
// its length. A RecvBatch is used by one goroutine at a time.
type RecvBatch struct {
	Tally Tally // of what Add was given since Clear

	entries []recvEntry // made once; the first count are in use
	count   int
	next    int // the entry that Next returns next
	part    Message

	// rest and segment are the unsplit part of a joined entry: datagrams of
	// segment bytes each, of which the last may be shorter.
	rest    []byte
	segment int

	maxDatagram int
	sessions    bool // what is added comes from sessions
}

// NewRecvBatch returns an empty batch for n buffers. Datagrams beyond maxDatagram bytes are left out.
func NewRecvBatch(n, maxDatagram int) RecvBatch {
	return RecvBatch{entries: make([]recvEntry, n), maxDatagram: maxDatagram}
}

// NewSessionBatch is NewRecvBatch for a carrier of sessions: other batches leave out what seems to come from the address of one.
func NewSessionBatch(n, maxDatagram int) RecvBatch {
	b := NewRecvBatch(n, maxDatagram)
	b.sessions = true
	return b
}

// recvEntry is one buffer of a batch: a datagram, or a train of them that the
// kernel joined.
type recvEntry struct {
	Message
	segment int // 0 for a single datagram
}

// Next returns the next datagram, or nil when there are no more.
func (b *RecvBatch) Next() *Message {
	if len(b.rest) == 0 {
		if b.next == b.count {
			return nil
		}
		e := &b.entries[b.next]
		b.next++
		if e.segment == 0 {
			return &e.Message
		}
		b.part, b.rest, b.segment = e.Message, e.Data, e.segment
	}
	n := min(b.segment, len(b.rest))
	b.part.Data = b.rest[:n:n]
	b.rest = b.rest[n:]
	return &b.part
}

// More reports whether Next has another datagram.
func (b *RecvBatch) More() bool {
	return b.next != b.count || len(b.rest) != 0
}

// Len returns how many datagrams the last read brought.
func (b *RecvBatch) Len() int { return int(b.Tally.Datagrams) }

// Cap returns how many buffers may be added.
func (b *RecvBatch) Cap() int { return len(b.entries) }

// Clear empties the batch for the next read.
func (b *RecvBatch) Clear() {
	b.count, b.next = 0, 0
	b.rest = nil
	b.Tally = Tally{}
}

// Add appends a buffer that holds one datagram (segment 0) or a train of datagrams of
// segment bytes each. Datagrams larger than the limit are counted and left out. The
// caller must not add more than Cap buffers.
func (b *RecvBatch) Add(from netip.AddrPort, data []byte, segment int) {
	count := uint64(1)
	if !b.sessions && way.IsSession(from.Addr()) {
		b.forged(len(data), segment)
		return
	}
	if segment > 0 && segment < len(data) {
		data, segment, count = b.addTrain(data, segment)
	} else {
		segment = 0
		if len(data) > b.maxDatagram {
			b.Tally.Truncated++
			count = 0
		}
	}
	if count == 0 {
		return
	}
	b.Tally.Datagrams += count
	b.Tally.Bytes += uint64(len(data))
	e := &b.entries[b.count]
	b.count++
	e.From, e.Gone = from, false
	e.Data = data[:len(data):len(data)]
	e.segment = segment
}

// forged counts a buffer from an address that only sessions have.
func (b *RecvBatch) forged(n, segment int) {
	count := uint64(1)
	if segment > 0 && segment < n {
		count = uint64((n + segment - 1) / segment)
	}
	b.Tally.Forged += count
}

// AddGone appends the end of a session. It counts as a buffer.
func (b *RecvBatch) AddGone(from netip.AddrPort) {
	e := &b.entries[b.count]
	b.count++
	*e = recvEntry{Message: Message{From: from, Gone: true}}
}

// addTrain returns the part of a train that is within the limit, and its number of
// datagrams: all, none, or only a short one at its end.
func (b *RecvBatch) addTrain(data []byte, segment int) ([]byte, int, uint64) {
	count := uint64((len(data) + segment - 1) / segment)
	if segment <= b.maxDatagram {
		b.Tally.Joined += count
		return data, segment, count
	}
	tail := len(data) % segment
	if tail == 0 || tail > b.maxDatagram {
		b.Tally.Truncated += count
		return nil, 0, 0
	}
	b.Tally.Truncated += count - 1
	return data[len(data)-tail:], 0, 1
}
