package wire

import (
	"encoding/binary"
	"math"
)

// BigReader is a cursor over numbers whose most significant byte comes first.
// Its methods and those of Reader together read a message.
type BigReader struct{ Reader }

// Big returns a cursor over b, with the most significant byte of each number
// first. It keeps b and never writes to it.
func Big(b []byte) BigReader { return BigReader{Reader{b: b}} }

// U16 reads an unsigned number of 2 bytes.
func (r *BigReader) U16(field string) uint16 {
	b := r.b[r.off:]
	if len(b) < 2 {
		r.stop(field, 2, 2)
		return 0
	}
	r.off += 2
	return binary.BigEndian.Uint16(b)
}

// U24 reads an unsigned number of 3 bytes.
func (r *BigReader) U24(field string) uint32 {
	b := r.b[r.off:]
	if len(b) < 3 {
		r.stop(field, 3, 3)
		return 0
	}
	r.off += 3
	return uint32(binary.BigEndian.Uint16(b))<<8 | uint32(b[2])
}

// U32 reads an unsigned number of 4 bytes.
func (r *BigReader) U32(field string) uint32 {
	b := r.b[r.off:]
	if len(b) < 4 {
		r.stop(field, 4, 4)
		return 0
	}
	r.off += 4
	return binary.BigEndian.Uint32(b)
}

// U64 reads an unsigned number of 8 bytes.
func (r *BigReader) U64(field string) uint64 {
	b := r.b[r.off:]
	if len(b) < 8 {
		r.stop(field, 8, 8)
		return 0
	}
	r.off += 8
	return binary.BigEndian.Uint64(b)
}

// I16 reads a number of 2 bytes in two's complement.
func (r *BigReader) I16(field string) int16 { return int16(r.U16(field)) }

// I32 reads a number of 4 bytes in two's complement.
func (r *BigReader) I32(field string) int32 { return int32(r.U32(field)) }

// I64 reads a number of 8 bytes in two's complement.
func (r *BigReader) I64(field string) int64 { return int64(r.U64(field)) }

// F32 reads an IEEE 754 number of 4 bytes, NaN and infinities included.
func (r *BigReader) F32(field string) float32 { return math.Float32frombits(r.U32(field)) }

// F64 reads an IEEE 754 number of 8 bytes, NaN and infinities included.
func (r *BigReader) F64(field string) float64 { return math.Float64frombits(r.U64(field)) }

// FiniteF32 is F32 that fails, and returns 0, on NaN and infinities.
func (r *BigReader) FiniteF32(field string) float32 {
	return r.finite32(field, r.F32(field))
}

// FiniteF64 is F64 that fails, and returns 0, on NaN and infinities.
func (r *BigReader) FiniteF64(field string) float64 {
	return r.finite64(field, r.F64(field))
}
