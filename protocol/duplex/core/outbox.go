package core

import (
	"parley/internal/lend"
	"parley/internal/queue"
)

// chunkBytes is the size of the pieces that a long queue of main is kept in.
const chunkBytes = 4096

// outbox is what is to be written to main: bytes in lent pieces, none while there are no
// bytes.
type outbox struct {
	chunks queue.Packets // full ones; the first may be read in part
	read   int           // of the first piece
	tail   []byte        // the one that is being filled
	size   int           // bytes in all
	flying int           // bytes that are being written
}

// put takes a copy of bytes.
func (o *outbox) put(b []byte, lender *lend.Buffers) {
	o.size += len(b)
	for len(b) > 0 {
		if len(o.tail) == cap(o.tail) {
			o.grow(len(b), lender)
		}
		n := min(len(b), cap(o.tail)-len(o.tail))
		o.tail = append(o.tail, b[:n]...)
		b = b[n:]
	}
}

// grow begins a new piece: a small one while little is queued.
func (o *outbox) grow(want int, lender *lend.Buffers) {
	if cap(o.tail) > 0 {
		o.chunks.Put(o.tail)
		want = chunkBytes
	}
	o.tail = lender.Take(min(want, chunkBytes))[:0]
}

// moveTo copies the oldest bytes into buf and says how many.
func (o *outbox) moveTo(buf []byte, lender *lend.Buffers) (n int) {
	for n < len(buf) && o.size > 0 {
		first := o.tail
		if o.chunks.Len() > 0 {
			first = o.chunks.First()
		}
		k := copy(buf[n:], first[o.read:])
		n += k
		o.read += k
		o.size -= k
		if o.read == len(first) {
			o.read = 0
			if o.chunks.Len() > 0 {
				o.chunks.Drop(lender)
			} else {
				lender.Give(o.tail)
				o.tail = nil
			}
		}
	}
	o.flying += n
	return n
}

// clear lets all go.
func (o *outbox) clear(lender *lend.Buffers) {
	o.chunks.Clear(lender)
	lender.Give(o.tail)
	*o = outbox{}
}
