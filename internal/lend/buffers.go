package lend

import "unsafe"

const (
	// maxKeptBytes bounds the bytes that are kept for later use after a burst. The rest is
	// left to the garbage collector. Each time that trimEvery slices were given back, the
	// spares that were not used since are dropped too.
	maxKeptBytes = 16 << 20
	trimEvery    = 1 << 14

	// fullPacket is the buffer of a full packet. classStep divides all sizes up to it.
	fullPacket = 1280
	classStep  = 32
)

// Buffers lends byte slices. One Buffers serves all connections of a loop. The zero value is ready.
type Buffers struct {
	// OnTrim, if set, is called when unused buffers are dropped. An owner that has Tables or Spares besides trims them then.
	OnTrim func()

	bytes  [len(sizes)]Spares[[]byte]
	shared Spares[*Shared]
	kept   int // bytes
	given  int // slices given back since the last trim
}

// sizes are the sizes that are lent: a game's small messages, one relay
// package, one full packet, and the largest datagram. Up to a full packet, more than
// half of a buffer is in use (except in the smallest buffers), so that bounds in bytes
// are nearly bounds on memory.
var sizes = [...]int{64, 96, 128, 192, 256, 384, 544, 768, fullPacket, 4096, 65536}

// classOf has the size class of n bytes at index n/classStep, rounded up.
var classOf = func() (of [fullPacket/classStep + 1]uint8) {
	c := 0
	for i := range of {
		if i*classStep > sizes[c] {
			c++
		}
		of[i] = uint8(c)
	}
	return of
}()

// class returns the smallest size class of at least n bytes; ok is false if there is
// none.
func class(n int) (c int, ok bool) {
	if n <= fullPacket {
		return int(classOf[(n+classStep-1)/classStep]), true
	}
	for c = int(classOf[len(classOf)-1]) + 1; c < len(sizes); c++ {
		if n <= sizes[c] {
			return c, true
		}
	}
	return 0, false
}

// Room returns the size of the buffer that is lent for n bytes.
func Room(n int) int {
	if c, ok := class(n); ok {
		return sizes[c]
	}
	return n
}

// Take returns a slice of n bytes with unspecified contents.
func (b *Buffers) Take(n int) []byte {
	c, ok := class(n)
	if !ok {
		return make([]byte, n)
	}
	p, ok := b.bytes[c].Take()
	if !ok {
		return make([]byte, n, sizes[c])
	}
	b.kept -= sizes[c]
	return p[:n]
}

// Copy returns a lent copy of p.
func (b *Buffers) Copy(p []byte) []byte {
	q := b.Take(len(p))
	copy(q, p)
	return q
}

// Give returns a slice that Take or Copy lent. The caller must not use it afterwards.
func (b *Buffers) Give(p []byte) {
	c, ok := class(cap(p))
	if !ok || cap(p) != sizes[c] || b.kept+cap(p) > maxKeptBytes {
		return
	}
	b.bytes[c].Give(p)
	b.kept += cap(p)
	if b.given++; b.given == trimEvery {
		b.trim()
	}
}

// trim drops spares that were not used since the last trim.
func (b *Buffers) trim() {
	b.given = 0
	for c := range b.bytes {
		b.kept -= b.bytes[c].Trim() * sizes[c]
	}
	b.shared.Trim()
	if b.OnTrim != nil {
		b.OnTrim()
	}
}

// KeepsTwice reports whether a buffer was given back twice, and would be lent to two takers. It is for tests.
func (b *Buffers) KeepsTwice() bool {
	seen := map[*byte]bool{}
	for c := range b.bytes {
		for _, p := range b.bytes[c].list {
			at := unsafe.SliceData(p)
			if seen[at] {
				return true
			}
			seen[at] = true
		}
	}
	return false
}
