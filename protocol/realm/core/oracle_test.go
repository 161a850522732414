package core

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// oracle says how many bytes the message has that b begins with, by the document's tables
// alone: another way than walk's, which it is held against. It returns false if there is
// none.
func oracle(from Side, b []byte) (int, bool) {
	o := oracleReader{b: b}
	o.message(from)
	return o.at, !o.bad && o.at <= MaxMessage
}

type oracleReader struct {
	b   []byte
	at  int
	bad bool
}

// n reads a number of some bytes.
func (o *oracleReader) n(size int) (v uint64) {
	if o.bad || len(o.b)-o.at < size {
		o.bad = true
		return 0
	}
	for range size {
		v = v<<8 | uint64(o.b[o.at])
		o.at++
	}
	return v
}

func (o *oracleReader) skip(size int) {
	if o.bad || len(o.b)-o.at < size {
		o.bad = true
		return
	}
	o.at += size
}

func (o *oracleReader) str() {
	size := int(o.n(2))
	from := o.at
	if o.skip(size); !o.bad && !utf8.Valid(o.b[from:o.at]) {
		o.bad = true
	}
}

func (o *oracleReader) f32() {
	if v := float64(math.Float32frombits(uint32(o.n(4)))); math.IsNaN(v) || math.IsInf(v, 0) {
		o.bad = true
	}
}

func (o *oracleReader) value(t Type) {
	switch t {
	case TypeU8, TypeI8:
		o.n(1)
	case TypeU16, TypeI16, TypeEntity:
		o.n(2)
	case TypeU32, TypeI32:
		o.n(4)
	case TypeU64, TypeI64:
		o.n(8)
	case TypeF32:
		o.f32()
	case TypeF64:
		if v := math.Float64frombits(o.n(8)); math.IsNaN(v) || math.IsInf(v, 0) {
			o.bad = true
		}
	case TypeStr:
		o.str()
	case TypePosition:
		o.skip(6)
	}
}

func (o *oracleReader) entity() {
	o.n(2)
	bits := o.n(1)
	if bits&0x18 != 0 {
		o.bad = true
	}
	if bits&0x80 != 0 {
		o.skip(6)
	}
	if bits&0x40 != 0 {
		o.f32()
	}
	if bits&0x20 != 0 {
		o.f32()
	}
	if bits&4 != 0 {
		o.n(2)
	}
	if bits&2 != 0 {
		o.n(2)
	}
	if bits&1 != 0 {
		o.times(2, func() {
			f, ok := testSchema.Attributes[uint16(o.n(2))]
			o.bad = o.bad || !ok
			o.value(f.Type)
		})
	}
}

func (o *oracleReader) action() {
	params, ok := testSchema.Actions[uint16(o.n(2))]
	o.bad = o.bad || !ok
	for _, f := range params {
		o.value(f.Type)
	}
}

func (o *oracleReader) chunk() {
	o.skip(5)
	o.skip(3 * int(o.n(2)))
}

// times reads a count and so many elements.
func (o *oracleReader) times(size int, element func()) {
	for i, n := uint64(0), o.n(size); i < n && !o.bad; i++ {
		element()
	}
}

func (o *oracleReader) code(codes uint64) uint64 {
	c := o.n(1)
	o.bad = o.bad || c >= codes
	return c
}

func (o *oracleReader) message(from Side) {
	typ := o.n(1)
	const client, server = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<9 | 1<<11 | 1<<13 | 1<<16 | 1<<18,
		1<<0 | 1<<1 | 1<<2 | 1<<4 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<12 | 1<<14 | 1<<15 | 1<<17 | 1<<19 | 1<<20 | 1<<21
	allowed := uint64(0)
	switch from {
	case FromClient:
		allowed = client
	case FromServer:
		allowed = server
	}
	if o.bad || typ > 21 || allowed>>typ&1 == 0 {
		o.bad = true
		return
	}
	const ticked = 1<<7 | 1<<8 | 1<<10 | 1<<11 | 1<<12 | 1<<13 | 1<<14 | 1<<15 | 1<<17 | 1<<21
	if ticked>>typ&1 == 1 {
		o.n(2)
	}
	switch typ {
	case 2:
		o.code(8)
	case 3, 5:
		o.str()
		o.str()
	case 4:
		if o.code(6) == 0 {
			o.skip(10)
		}
	case 6:
		o.code(6)
	case 7:
		o.n(2)
		if o.code(2) == 0 {
			o.str()
		}
	case 8:
		o.chunk()
	case 9:
		o.times(1, func() { o.skip(4) })
	case 10:
		o.times(2, o.entity)
	case 11, 14:
		o.entity()
	case 12:
		o.times(2, func() { o.n(2); o.action() })
	case 13:
		o.action()
	case 15, 18:
		o.n(2)
	case 16:
		o.str()
	case 17:
		o.n(2)
		o.str()
	case 19, 20:
		o.n(4)
	case 21:
		o.times(2, o.chunk)
	}
}

// oracleTick reads the tick of a message that has one.
func oracleTick(b []byte) uint16 { return binary.BigEndian.Uint16(b[1:]) }
