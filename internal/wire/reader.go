package wire

import (
	"math"
	"math/bits"
	"unicode/utf8"
)

// Reader is the part of a cursor that has no byte order: single bytes, runs of
// bytes, counts, and the record of the first failure. LittleReader and
// BigReader add the numbers of more than one byte; start with Little or Big.
//
// A failure is sticky: after the first one, every read returns zero or nothing, and only
// the first is reported. The zero value is a cursor over nothing.
//
// The field name that each read takes is for Err. It should be a constant, or at least a
// string that exists already: then it costs nothing unless the read fails.
type Reader struct {
	// b is the input and never changes before a failure; 0 <= off <= len(b) always holds. A read
	// moves only off: storing a shortened slice instead would let the compiler
	// prove the bounds, but costs three words and a write barrier each time.
	b   []byte
	off int

	// The first failure; all zero while there is none.
	failed      Cause
	field, why  string
	want, limit int
	at          int // the offset of the failed field; off itself goes to the end
	depth       int
	path        [maxPath]step
}

// OK reports whether no read has failed so far.
func (r *Reader) OK() bool { return r.failed == 0 }

// Len returns how many bytes are left to read; 0 after a failure.
func (r *Reader) Len() int { return len(r.b) - r.off }

// Offset returns how many bytes have been read: where the next field starts.
// After a failure it is the size of the input.
func (r *Reader) Offset() int { return r.off }

// U8 reads one byte.
func (r *Reader) U8(field string) uint8 {
	b := r.b[r.off:]
	if len(b) < 1 {
		r.stop(field, 1, 1)
		return 0
	}
	r.off++
	return b[0]
}

// I8 reads one byte as a number in two's complement.
func (r *Reader) I8(field string) int8 { return int8(r.U8(field)) }

// Bytes reads n bytes. It fails if n is negative, above max, or more than the bytes left,
// so n may be any number that the peer sent. The result shares the memory of the input:
// copy it if it must outlive the input. Its capacity is its length, so an append to it
// cannot overwrite the bytes that follow.
func (r *Reader) Bytes(field string, n, max int) []byte {
	b := r.b[r.off:]
	if n < 0 || n > max || n > len(b) {
		r.stop(field, n, max)
		return nil
	}
	r.off += n
	return b[:n:n]
}

// Text is Bytes that also fails if the bytes are not UTF-8.
func (r *Reader) Text(field string, n, max int) []byte {
	at := r.Offset()
	b := r.Bytes(field, n, max)
	if utf8.Valid(b) {
		return b
	}
	r.refuse(CauseNotUTF8, at+validPrefix(b), field)
	return nil
}

// Rest reads all bytes that are left. It fails if they are more than max.
func (r *Reader) Rest(field string, max int) []byte { return r.Bytes(field, r.Len(), max) }

// Skip passes over n bytes. It fails if n is negative or more than the bytes left.
func (r *Reader) Skip(field string, n int) { r.Bytes(field, n, n) }

// Count checks a number of elements that the peer sent, before any memory is allocated
// for them or any loop runs. It returns n if n is neither negative nor above max, and n
// elements of at least minElement bytes fit into the bytes left. Otherwise it fails and
// returns 0. With a minElement of 0 only max counts.
func (r *Reader) Count(field string, n, max, minElement int) int {
	if n < 0 || n > max || r.failed != 0 {
		r.stop(field, n, max)
		return 0
	}
	// The product of two hostile numbers may not fit into an int.
	high, least := bits.Mul64(uint64(n), uint64(minElement))
	if high != 0 {
		least = math.MaxInt
	}
	if least > uint64(r.Len()) {
		want := int(min(least, math.MaxInt))
		r.stop(field, want, want)
		return 0
	}
	return n
}

// In ends one iteration of a loop over the elements of a field, and reports whether to go
// on. If the iteration failed, In notes where, so that Err can say "entities[2].name".
// Then leave the loop, and return from its function.
//
//	for i := range n {
//		m.Entities[i].read(&r)
//		if !r.In("entities", i) {
//			return
//		}
//	}
func (r *Reader) In(field string, i int) bool {
	if r.failed != 0 {
		r.inside(field, i)
	}
	return r.failed == 0
}

// Within fails as the cursor inner has, if it has: inner is over bytes that r has just read. An error then
// says what inner's would, with the offset in r's input.
func (r *Reader) Within(inner *Reader) {
	if inner.failed == 0 || r.failed != 0 {
		return
	}
	whole, base := r.b[:r.off], r.off-len(inner.b)
	*r = *inner
	r.b, r.off, r.at = whole, len(whole), base+inner.at
}

// Fail refuses a field for its meaning: an unknown type, or flags that exclude each
// other. The field starts at offset at (call Offset before reading it); why is a constant
// that completes "field: ...".
//
//go:noinline
func (r *Reader) Fail(at int, field, why string) {
	if r.failed == 0 {
		r.refuse(CauseRefused, at, field)
		r.why = why
	}
}

// Done ends the reading of a message that must fill the input. It is false if
// any read failed, and it fails itself if bytes are left over.
func (r *Reader) Done() bool {
	if r.off != len(r.b) {
		r.leftOver()
	}
	return r.failed == 0
}

// Cause returns why reading failed, or 0. For a stream that ends inside a message it is
// CauseShort: read the message again from its start when more bytes have come.
func (r *Reader) Cause() Cause {
	if r.failed == CauseShort && (r.want < 0 || r.want > r.limit) {
		return CauseLimit
	}
	return r.failed
}

// stop notes that want bytes, of at most limit, could not be read. It is small enough to
// be inlined with its caller, where a call would not fit the compiler's budget. So it
// leaves it to Cause to decide whether the limit or the end was the reason.
func (r *Reader) stop(field string, want, limit int) {
	if r.failed == 0 {
		r.failed, r.field, r.want, r.limit, r.at = CauseShort, field, want, limit, r.off
	}
	r.off = len(r.b)
}

// refuse notes any other failure, of the field that starts at offset at. Unlike stop it
// is called only when nothing has failed before: its callers have just read something, or
// have checked.
func (r *Reader) refuse(cause Cause, at int, field string) {
	r.failed, r.field, r.at = cause, field, at
	r.off = len(r.b)
}

// leftOver and inside are not inlined, so that codecs do not contain a copy of their code
// at each end and loop.
//
//go:noinline
func (r *Reader) leftOver() { r.refuse(CauseLeftOver, r.Offset(), "") }

// inside notes one list around the failure. In calls it for the innermost list first.
//
//go:noinline
func (r *Reader) inside(field string, i int) {
	if uint(r.depth) < maxPath {
		r.path[r.depth] = step{field, i}
	}
	r.depth++
}
