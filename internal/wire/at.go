package wire

import "encoding/binary"

// A very frequent packet may be read without a cursor, at the fixed offsets of its
// layout, with the functions below. Beyond the end of b they return 0 or nothing, so the
// caller checks the length once, before or after.

// U8At returns the byte at an offset.
func U8At(b []byte, at int) uint8 {
	if uint(at) >= uint(len(b)) {
		return 0
	}
	return b[at]
}

// LittleU16At returns the 16 bits from an offset on.
func LittleU16At(b []byte, at int) uint16 {
	if at < 0 || len(b)-2 < at {
		return 0
	}
	return binary.LittleEndian.Uint16(b[at:])
}

// LittleU64At returns the 64 bits from an offset on.
func LittleU64At(b []byte, at int) uint64 {
	if at < 0 || len(b)-8 < at {
		return 0
	}
	return binary.LittleEndian.Uint64(b[at:])
}

// BytesAt returns the bytes from one offset up to another.
func BytesAt(b []byte, from, to int) []byte {
	if from < 0 || to < from || len(b) < to {
		return nil
	}
	return b[from:to:to]
}
