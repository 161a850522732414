package udp

import "net/netip"

// Message is one datagram that was received.
type Message struct {
	// From is the sender in canonical form (see Canonical). It may be forged.
	From netip.AddrPort

	// Data is the payload. It is a view into the batch: see RecvBatch.
	Data []byte

	// ECN is the mark that the datagram bore on arrival.
	ECN ECN
}

// RecvBatch is what one Read brings.
//
// The contract. A RecvBatch is made by the socket that fills it and is used with
// no other. It owns the buffers. Read discards what it held and fills it; then
// Next yields each datagram once, in the order of arrival. A *Message is valid
// until the next call of Next, and its Data until the next Read with this
// batch or the socket's Close: who wants to keep bytes copies them. The holder
// may overwrite Data, but not append to it: its capacity ends where it ends.
// A RecvBatch is used by one goroutine at a time.
type RecvBatch struct {
	entries []recvEntry
	next    int // the entry that Next turns to
	msg     Message

	// rest and segment are the unsplit part of a joined entry: datagrams of
	// segment bytes each, of which the last may be shorter.
	rest    []byte
	segment int

	maxDatagram int
	tally       tally

	vectors recvVectors // what the system's calls need, see socket_linux.go
}

// recvEntry is one buffer of a batch: a datagram, or a train of them that the
// kernel joined.
type recvEntry struct {
	from    netip.AddrPort
	data    []byte
	segment int // 0 for a single datagram
	ecn     ECN
}

// Next returns the next datagram, or nil when there are no more.
func (b *RecvBatch) Next() *Message {
	if len(b.rest) == 0 {
		if b.next == len(b.entries) {
			return nil
		}
		e := &b.entries[b.next]
		b.next++
		b.msg.From, b.msg.ECN = e.from, e.ecn
		if e.segment == 0 {
			b.msg.Data = e.data
			return &b.msg
		}
		b.rest, b.segment = e.data, e.segment
	}
	n := min(b.segment, len(b.rest))
	b.msg.Data = b.rest[:n:n]
	b.rest = b.rest[n:]
	return &b.msg
}

// More reports whether Next has another datagram.
func (b *RecvBatch) More() bool {
	return len(b.rest) != 0 || b.next != len(b.entries)
}

// Len returns how many datagrams the last Read brought.
func (b *RecvBatch) Len() int { return int(b.tally.datagrams) }

// clear empties the batch for the next Read.
func (b *RecvBatch) clear() {
	b.entries = b.entries[:0]
	b.next = 0
	b.rest = nil
	b.tally = tally{}
}

// add appends a buffer that holds one datagram (segment 0) or a train of
// datagrams of segment bytes each. What is larger than the limit is counted and
// left out. The caller has made room: entries never grows.
func (b *RecvBatch) add(from netip.AddrPort, data []byte, segment int, ecn ECN) {
	if segment <= 0 || segment >= len(data) {
		segment = 0
		if len(data) > b.maxDatagram {
			b.tally.truncated++
			return
		}
	}
	count := uint64(1)
	if segment != 0 {
		count = uint64((len(data) + segment - 1) / segment)
		if segment > b.maxDatagram {
			tail := len(data) % segment
			if tail == 0 || tail > b.maxDatagram {
				b.tally.truncated += count
				return
			}
			b.tally.truncated += count - 1
			data, segment, count = data[len(data)-tail:], 0, 1
		} else {
			b.tally.joined += count
		}
	}
	b.tally.datagrams += count
	b.tally.bytes += uint64(len(data))
	if ecn == CE {
		b.tally.ce += count
	}
	b.entries = append(b.entries, recvEntry{from, data[:len(data):len(data)], segment, ecn})
}
