package udp

import "net/netip"

// SendBatch gathers datagrams for one Write.
//
// The contract. A SendBatch owns one arena into which datagrams are written one
// behind the other: Free lends the place of the next, Commit makes it part of
// the batch. What Free returned is the caller's until Commit, Append, Reset or
// Write. Write sends all in order, joins neighbours that go to one address and
// have one size where the kernel can (GSO), and leaves the batch empty whatever
// became of them: Stats tells. A SendBatch may be used with any socket, by one
// goroutine at a time.
type SendBatch struct {
	arena       []byte
	used        int
	entries     []sendEntry
	maxDatagram int
}

type sendEntry struct {
	to     netip.AddrPort
	off, n int
}

// NewSendBatch returns an empty batch of a size that fits c.
func NewSendBatch(c Config) *SendBatch {
	c = c.withDefaults()
	arena := max(2*c.MaxDatagram, min(c.Batch*c.MaxDatagram, sendArenaBytes))
	return &SendBatch{
		arena:       make([]byte, arena),
		entries:     make([]sendEntry, 0, min(maxSendDatagrams, max(c.Batch, arena/64))),
		maxDatagram: c.MaxDatagram,
	}
}

// Free returns room for one datagram of the largest size, or nil when the batch
// is full and must be written first.
func (b *SendBatch) Free() []byte {
	end := b.used + b.maxDatagram
	if end > len(b.arena) || len(b.entries) == cap(b.entries) {
		return nil
	}
	return b.arena[b.used:end:end]
}

// Commit adds the first n bytes of what Free returned as a datagram for to. It
// panics when n is more than was lent.
func (b *SendBatch) Commit(n int, to netip.AddrPort) {
	if n < 0 || n > len(b.Free()) {
		panic("udp: Commit of more bytes than Free lent")
	}
	b.entries = append(b.entries, sendEntry{to, b.used, n})
	b.used += n
}

// Append copies p as a datagram for to. It reports false, and adds nothing,
// when the batch is full or p is larger than Config.MaxDatagram.
func (b *SendBatch) Append(p []byte, to netip.AddrPort) bool {
	free := b.Free()
	if free == nil || len(p) > len(free) {
		return false
	}
	b.Commit(copy(free, p), to)
	return true
}

// Len returns how many datagrams wait in the batch.
func (b *SendBatch) Len() int { return len(b.entries) }

// Reset empties the batch without sending.
func (b *SendBatch) Reset() {
	b.entries = b.entries[:0]
	b.used = 0
}

// payload returns the bytes of entry e.
func (b *SendBatch) payload(e *sendEntry) []byte { return b.arena[e.off : e.off+e.n] }
