package datagram

import "net/netip"

// SendBatch gathers datagrams for one write.
//
// A SendBatch owns one buffer, the arena, into which datagrams are written one after the
// other. Free lends the room for the next, and Commit makes it part of the batch. The
// caller may use the room until Commit, Append, Reset or Write. Write sends all datagrams
// in order, and leaves the batch empty even if some could not be sent: see Stats. A
// SendBatch may be used with any carrier, by one goroutine at a time.
type SendBatch struct {
	Arena       []byte // what the entries point into
	used        int
	entries     []SendEntry // made once; the first count are in use
	count       int
	maxDatagram int
}

// SendEntry is a datagram in a batch: N bytes of the arena from Off on, for the receiver To.
type SendEntry struct {
	To     netip.AddrPort
	Off, N int
}

// NewSendBatch returns an empty batch for about n datagrams of at most maxDatagram bytes.
func NewSendBatch(n, maxDatagram int) *SendBatch {
	arena := max(2*maxDatagram, min(n*maxDatagram, sendArenaBytes))
	return &SendBatch{
		Arena:       make([]byte, arena),
		entries:     make([]SendEntry, min(maxSendDatagrams, max(n, arena/64))),
		maxDatagram: maxDatagram,
	}
}

// Free returns room for one datagram of the largest size, or nil when the batch
// is full and must be written first.
func (b *SendBatch) Free() []byte {
	end := b.used + b.maxDatagram
	if end > len(b.Arena) || b.count == len(b.entries) {
		return nil
	}
	return b.Arena[b.used:end:end]
}

// Commit adds the first n bytes of what Free returned as a datagram for to. It panics if
// Free lent fewer than n bytes.
func (b *SendBatch) Commit(n int, to netip.AddrPort) {
	if uint(n) > uint(b.maxDatagram) || b.used+n > len(b.Arena) {
		panic("datagram: Commit of more bytes than Free lent")
	}
	e := &b.entries[b.count]
	b.count++
	e.To, e.Off, e.N = to, b.used, n
	b.used += n
}

// Append copies p as a datagram for to. It reports false, and adds nothing,
// when the batch is full or p is larger than the largest datagram.
func (b *SendBatch) Append(p []byte, to netip.AddrPort) bool {
	free := b.Free()
	if free == nil || len(p) > len(free) {
		return false
	}
	b.Commit(copy(free, p), to)
	return true
}

// Len returns how many datagrams wait in the batch.
func (b *SendBatch) Len() int { return b.count }

// Reset empties the batch without sending.
func (b *SendBatch) Reset() {
	b.count, b.used = 0, 0
}

// Entries returns the datagrams in order. The carrier that writes the batch may change them.
func (b *SendBatch) Entries() []SendEntry { return b.entries[:b.count] }

// Filter keeps the entries for which keep reports true, in order.
func (b *SendBatch) Filter(keep func(e *SendEntry) bool) {
	n := 0
	for i := range b.entries[:b.count] {
		if e := &b.entries[i]; keep(e) {
			b.entries[n] = *e
			n++
		}
	}
	b.count = n
}

// Payload returns the bytes of entry e.
func (b *SendBatch) Payload(e *SendEntry) []byte { return b.Arena[e.Off : e.Off+e.N] }
