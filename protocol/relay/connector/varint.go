package connector

import (
	"encoding/binary"

	"parley/internal/wire"
)

// Every number of a message but the floats is written in one of these forms: "below 251
// one byte, 251 then u16, 252 then u32, 253 then u64". Variants, sizes, counts and players
// are numbers too.
//
//	 0                      1
//	+----------------------+
//	| value, 0 to 250      |
//	+----------------------+-----------------+
//	| 251                  | u16, from 251   |
//	+----------------------+-----------------+-------------+
//	| 252                  | u32, from 65,536              |
//	+----------------------+-------------------------------+-------------+
//	| 253                  | u64, from 4,294,967,296                     |
//	+----------------------+---------------------------------------------+
//
// A number in a longer form than it needs is refused. The encoders of the game never write
// one, and with it refused a message has one encoding, so that whoever compares, counts or
// logs the bytes of a message speaks of the message.
const (
	form16 = 251
	form32 = 252
	form64 = 253
)

// readUint reads a number of at most max. It fails, and returns 0, on a larger one.
func readUint(r *wire.BigReader, field string, max uint64) uint64 {
	at := r.Offset()
	v, least := uint64(r.U8(field)), uint64(0)
	switch {
	case v < form16:
	case v == form16:
		v, least = uint64(r.U16(field)), form16
	case v == form32:
		v, least = uint64(r.U32(field)), 1<<16
	case v == form64:
		v, least = r.U64(field), 1<<32
	default:
		r.Fail(at, field, "no form of a number begins so")
		return 0
	}
	switch {
	case !r.OK():
		return 0
	case v < least:
		r.Fail(at, field, "a number in a longer form than it needs")
		return 0
	case v > max:
		r.Fail(at, field, "larger than its type or limit")
		return 0
	}
	return v
}

// appendUint appends a number in its shortest form.
func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < form16:
		return append(b, byte(v))
	case v < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, form16), uint16(v))
	case v < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, form32), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, form64), v)
}

// readVariant reads which of n alternatives follows. It returns its number from 1 on, as
// the types of this package count them (0 is unset), or 0 after a failure.
func readVariant(r *wire.BigReader, field string, n uint64) uint8 {
	v := readUint(r, field, n-1)
	if !r.OK() {
		return 0
	}
	return uint8(v) + 1
}

// appendVariant is the reverse of readVariant.
func appendVariant(b []byte, kind uint8) []byte { return append(b, kind-1) }
