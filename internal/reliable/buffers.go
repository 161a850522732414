package reliable

import "parley/internal/metric"

// Buffers lends byte slices and the small tables of senders and receivers, so
// that a connection holds memory only while it has something in flight and the
// packet path does not allocate. One Buffers serves all connections of a loop;
// it is not safe for several goroutines. The zero value is ready.
type Buffers struct {
	// MaxHeld bounds the bytes that all receivers together hold behind gaps, beyond a small share that each
	// always has. A packet over the bound is not acknowledged, so the peer sends it again. 0 means 32 MiB.
	MaxHeld int

	// RoundTrips are the round trips that acknowledgements have shown, of all senders.
	RoundTrips metric.Times

	bytes   [len(byteClasses)]spares[[]byte]
	flights [tableClasses]spares[[]flight]
	parcels [tableClasses]spares[[]parcel]
	ranges  [tableClasses]spares[[]ackRange]
	held    spares[*heldLanes]
	shared  spares[*Shared]
	kept    int
	waiting int // bytes of the packets that all receivers hold behind a gap beyond their own shares, with their tables
	given   int // slices given back since the last trim
}

// byteClasses are the sizes that are lent: a game's small messages, one relay
// package, one full packet, and the largest datagram. Up to a full packet, more than
// half of a buffer is in use (except in the smallest buffers), so that bounds in bytes
// are nearly bounds on memory.
var byteClasses = [...]int{64, 96, 128, 192, 256, 384, 544, 768, 1280, 4096, 65536}

// classStep divides all sizes up to a full packet.
const (
	classStep      = 32
	fullPacketSize = 1280
)

// classOf has the size class of n bytes at index n/classStep, rounded up.
var classOf = func() (of [fullPacketSize/classStep + 1]uint8) {
	c := 0
	for i := range of {
		if i*classStep > byteClasses[c] {
			c++
		}
		of[i] = uint8(c)
	}
	return of
}()

// byteClass returns the smallest size class of at least n bytes; ok is false if there is
// none.
func byteClass(n int) (c int, ok bool) {
	if n <= fullPacketSize {
		return int(classOf[(n+classStep-1)/classStep]), true
	}
	for c = int(classOf[len(classOf)-1]) + 1; c < len(byteClasses); c++ {
		if n <= byteClasses[c] {
			return c, true
		}
	}
	return 0, false
}

const (
	// tableClasses is the number of table sizes: powers of two, from firstTable on.
	tableClasses = 16
	firstTable   = 2

	// largeTable is the size, in entries, from which only one table is kept: 140 KiB of
	// flights.
	largeTable = 1024

	// maxKeptBytes bounds the bytes that are kept for later use after a burst. The rest is
	// left to the garbage collector. Each time that trimEvery slices were given back, the
	// spares that were not used since are dropped too, except fewSpares of each kind.
	maxKeptBytes = 16 << 20
	trimEvery    = 1 << 14
	fewSpares    = 16

	// keptRoom is the number of slices that a list always has room for: 48 KiB.
	keptRoom = 2048

	// maxKeptShared bounds the kept Shared structs, and maxKeptHeld the kept heldLanes.
	maxKeptShared = 4096
	maxKeptHeld   = 256

	// maxKeptTables bounds the kept tables of the smallest size. Of each next size half as
	// many are kept. For flights, that is about a megabyte of each size.
	maxKeptTables = 4096
)

// Take returns a slice of n bytes with unspecified contents.
func (b *Buffers) Take(n int) []byte {
	c, ok := byteClass(n)
	if !ok {
		return make([]byte, n)
	}
	p, ok := b.bytes[c].take()
	if !ok {
		return make([]byte, n, byteClasses[c])
	}
	b.kept -= byteClasses[c]
	return p[:n]
}

// Held returns how many bytes the packets that wait behind gaps take of the budget that all receivers share.
func (b *Buffers) Held() int { return b.waiting }

func (b *Buffers) maxHeld() int {
	if b.MaxHeld != 0 {
		return b.MaxHeld
	}
	return heldOfAll
}

// Kept returns how many bytes wait to be lent. It is for tests.
func (b *Buffers) Kept() int { return b.kept }

// Give returns a slice that Take lent. The caller must not use it afterwards.
func (b *Buffers) Give(p []byte) {
	c, ok := byteClass(cap(p))
	if !ok || cap(p) != byteClasses[c] || b.kept+cap(p) > maxKeptBytes {
		return
	}
	b.bytes[c].give(p)
	b.kept += cap(p)
	if b.given++; b.given == trimEvery {
		b.trim()
	}
}

// trim drops spares that were not used since the last trim.
func (b *Buffers) trim() {
	b.given = 0
	for c := range b.bytes {
		b.kept -= b.bytes[c].trim() * byteClasses[c]
	}
	for c := range tableClasses {
		b.flights[c].trim()
		b.parcels[c].trim()
		b.ranges[c].trim()
	}
	b.held.trim()
	b.shared.trim()
}

// room returns the size of the buffer that is lent for n bytes.
func room(n int) int {
	if c, ok := byteClass(n); ok {
		return byteClasses[c]
	}
	return n
}

// copyOf returns a lent copy of p.
func (b *Buffers) copyOf(p []byte) []byte {
	q := b.Take(len(p))
	copy(q, p)
	return q
}

func (b *Buffers) takeFlights(n int) []flight { return takeTable(&b.flights, n) }
func (b *Buffers) giveFlights(t []flight)     { giveTable(&b.flights, t) }
func (b *Buffers) takeParcels(n int) []parcel { return takeTable(&b.parcels, n) }
func (b *Buffers) giveParcels(t []parcel)     { giveTable(&b.parcels, t) }

func (b *Buffers) takeRanges(n int) []ackRange { return takeTable(&b.ranges, n) }
func (b *Buffers) giveRanges(t []ackRange)     { giveTable(&b.ranges, t) }

// takeHeld returns empty lanes that count each packet with an overhead, in bytes.
func (b *Buffers) takeHeld(overhead int) *heldLanes {
	h, ok := b.held.take()
	if !ok {
		h = new(heldLanes)
	}
	for i := range h.lanes {
		h.lanes[i].each = overhead
	}
	return h
}

func (b *Buffers) giveHeld(h *heldLanes) {
	if len(b.held.list) < maxKeptHeld {
		b.held.give(h)
	}
}

// tableClass returns the class of tables of n entries, a power of two.
func tableClass(n int) int {
	c := 0
	for size := firstTable; size < n; size *= 2 {
		c++
	}
	return c
}

func takeTable[T any](free *[tableClasses]spares[[]T], n int) []T {
	c := tableClass(n)
	if c >= tableClasses {
		return make([]T, firstTable<<c)
	}
	for i := c; i < tableClasses && (i == c || n >= largeTable); i++ {
		if t, ok := free[i].take(); ok {
			return t
		}
	}
	return make([]T, firstTable<<c)
}

// giveTable keeps a table for its next use, up to a number that depends on its size: small
// tables are many, and a large one takes as much memory as a thousand of them. Of the large
// tables, which a window of thousands of tiny packets needs, only the largest is kept.
func giveTable[T any](free *[tableClasses]spares[[]T], t []T) {
	c := tableClass(len(t))
	switch {
	case c >= tableClasses:
	case len(t) < largeTable:
		if len(free[c].list) < maxKeptTables>>c {
			free[c].give(t)
		}
	default:
		for i := tableClass(largeTable); i < tableClasses; i++ {
			if len(free[i].list) > 0 && i > c {
				return
			}
			clear(free[i].list)
			free[i].list = free[i].list[:0]
		}
		free[c].give(t)
	}
}
