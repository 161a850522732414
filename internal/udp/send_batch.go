package udp

import "net/netip"

// SendBatch gathers datagrams for one Write.
//
// A SendBatch owns one buffer, the arena, into which datagrams are written one after the
// other. Free lends the room for the next, and Commit makes it part of the batch. The
// caller may use the room until Commit, Append, Reset or Write. Write sends all datagrams
// in order. Where the kernel can, it joins neighbours of the same address and size (GSO).
// It leaves the batch empty even if some could not be sent: see Stats. A SendBatch may be
// used with any socket, by one goroutine at a time.
type SendBatch struct {
	arena       []byte
	used        int
	entries     []sendEntry // made once; the first count are in use
	count       int
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
		entries:     make([]sendEntry, min(maxSendDatagrams, max(c.Batch, arena/64))),
		maxDatagram: c.MaxDatagram,
	}
}

// Free returns room for one datagram of the largest size, or nil when the batch
// is full and must be written first.
func (b *SendBatch) Free() []byte {
	end := b.used + b.maxDatagram
	if end > len(b.arena) || b.count == len(b.entries) {
		return nil
	}
	return b.arena[b.used:end:end]
}

// Commit adds the first n bytes of what Free returned as a datagram for to. It panics if
// Free lent fewer than n bytes.
func (b *SendBatch) Commit(n int, to netip.AddrPort) {
	if uint(n) > uint(b.maxDatagram) || b.used+n > len(b.arena) {
		panic("udp: Commit of more bytes than Free lent")
	}
	e := &b.entries[b.count]
	b.count++
	e.to, e.off, e.n = to, b.used, n
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
func (b *SendBatch) Len() int { return b.count }

// Reset empties the batch without sending.
func (b *SendBatch) Reset() {
	b.count, b.used = 0, 0
}

// waiting returns the entries in use.
func (b *SendBatch) waiting() []sendEntry { return b.entries[:b.count] }

// payload returns the bytes of entry e.
func (b *SendBatch) payload(e *sendEntry) []byte { return b.arena[e.off : e.off+e.n] }
