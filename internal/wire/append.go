package wire

import (
	"encoding/binary"
	"math"
)

// Messages are written with append and with the Append methods of encoding/binary's
// LittleEndian and BigEndian. The functions below are the ones that encoding/binary
// lacks.

// AppendLittleU24 appends the low 24 bits of v, least significant byte first.
func AppendLittleU24(b []byte, v uint32) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16))
}

// AppendBigU24 appends the low 24 bits of v, most significant byte first.
func AppendBigU24(b []byte, v uint32) []byte {
	return append(b, byte(v>>16), byte(v>>8), byte(v))
}

// AppendLittleF32 appends v as IEEE 754, least significant byte first.
func AppendLittleF32(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}

// AppendLittleF64 appends v as IEEE 754, least significant byte first.
func AppendLittleF64(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendBigF32 appends v as IEEE 754, most significant byte first.
func AppendBigF32(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
}

// AppendBigF64 appends v as IEEE 754, most significant byte first.
func AppendBigF64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}
