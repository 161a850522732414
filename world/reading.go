package world

import (
	"encoding/binary"
	"math"
)

// A reading takes bytes from the front of b, and fails for good when there are too few or when they are not what was written.
type reading struct {
	b      []byte
	failed bool
}

// done reports whether all was read and nothing failed.
func (r *reading) done() bool { return !r.failed && len(r.b) == 0 }

// more reports whether something is left to be read.
func (r *reading) more() bool { return !r.failed && len(r.b) > 0 }

// zeros is what a failed reading reads: no number is longer.
var zeros [64]byte

func (r *reading) take(n int) []byte {
	if r.failed || n < 0 || n > len(r.b) {
		r.failed = true
		return zeros[:max(0, min(n, len(zeros)))]
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reading) u8() byte    { return r.take(1)[0] }
func (r *reading) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reading) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reading) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// v reads an unsigned varint. One that is longer than need be is not what was written.
func (r *reading) v() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.failed || n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// i reads a signed varint.
func (r *reading) i() int64 {
	v := r.v()
	return int64(v>>1) ^ -int64(v&1)
}

// upTo reads an unsigned varint that is at most max.
func (r *reading) upTo(max uint64) uint64 {
	v := r.v()
	if v > max {
		r.failed = true
		return 0
	}
	return v
}

func (r *reading) int(max int) int { return int(r.upTo(uint64(max))) }

// count reads how many follow that have so many bytes each at least.
func (r *reading) count(least int) int { return r.int(len(r.b) / least) }

func (r *reading) player() PlayerID { return PlayerID(r.upTo(1<<16 - 1)) }

// bytes reads a text in place.
func (r *reading) bytes() []byte {
	n := r.v()
	if n > uint64(len(r.b)) {
		r.failed = true
		return nil
	}
	return r.take(int(n))
}

func (r *reading) text() string { return string(r.bytes()) }

// shortText reads a text whose size is a u8.
func (r *reading) shortText() string {
	n := int(r.u8())
	if n > len(r.b) {
		r.failed = true
		return ""
	}
	return string(r.take(n))
}

// appendValue writes a value of a type that both sides know: numbers as varints, floats and IDs as they are.
func appendValue(b []byte, v Value) []byte {
	switch v.Type {
	case Text:
		return appendText(b, v.text)
	case F32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.bits))
	case F64, Entity:
		return binary.LittleEndian.AppendUint64(b, v.bits)
	case I8, I16, I32, I64:
		return binary.AppendVarint(b, int64(v.bits))
	}
	return binary.AppendUvarint(b, v.bits)
}

// value reads a value. A number that its type does not hold, and a float that is not finite, fail.
func (r *reading) value(t Type) Value {
	v := Value{Type: t}
	switch t {
	case Text:
		v.text = r.text()
	case F32:
		v.bits = uint64(r.u32())
	case F64, Entity:
		v.bits = r.u64()
	case I8, I16, I32, I64:
		n := r.i()
		least := int64(math.MinInt64) >> (64 - 8*t.Bytes())
		r.failed = r.failed || n < least || n > ^least
		v.bits = uint64(n)
	case Bool:
		v.bits = r.upTo(1)
	default:
		v.bits = r.upTo(math.MaxUint64 >> (64 - 8*t.Bytes()))
	}
	r.failed = r.failed || !v.Finite()
	return v
}

// appendWord writes a value as a state has it.
func appendWord(b []byte, v Value) []byte {
	if v.Type == Text {
		s := v.text[:min(len(v.text), 255)]
		return append(append(b, byte(len(s))), s...)
	}
	return binary.LittleEndian.AppendUint64(b, v.bits)
}

// word reads a value as a state has it.
func (r *reading) word(t Type) Value {
	if t == Text {
		return TextValue(r.shortText())
	}
	return Value{Type: t, bits: r.u64()}
}
