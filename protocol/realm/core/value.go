package core

import (
	"encoding/binary"
	"math"

	"parley/internal/wire"
)

// A Type is the type of an attribute, of an action's parameter, or of a field that the game
// adds to config. The zero Type is unset.
type Type uint8

// The types.
const (
	TypeU8 Type = iota + 1
	TypeU16
	TypeU32
	TypeU64
	TypeI8
	TypeI16
	TypeI32
	TypeI64
	TypeF32
	TypeF64
	TypeStr      // a size u16 and as many bytes of UTF-8
	TypeEntity   // the id of an entity, u16
	TypePosition // bx i16, by i16, x u8, y u8

	types = iota + 1
)

var typeNames = [types]string{"unset", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "str", "entity", "position"}

// typeSizes are the bytes of a value; of a str without its text.
var typeSizes = [types]int{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, positionBytes}

// String returns the name of the type, as in the layout tables.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return typeNames[0]
}

func (t Type) known() bool { return t > 0 && int(t) < types }

// Position is a cell of the world: "each point is described by (bx;by;x;y)". (bx;by) is the chunk,
// and (x;y) the cell in it, counted from its lower left corner.
type Position struct {
	BX, BY int16
	X, Y   uint8
}

// Value is one value of a Type. The zero Value has no type. A str that was parsed shares the
// memory of the parsed bytes.
type Value struct {
	typ  Type
	bits uint64
	text []byte
}

// U8 returns a value of type u8.
func U8(v uint8) Value { return Value{typ: TypeU8, bits: uint64(v)} }

// U16 returns a value of type u16.
func U16(v uint16) Value { return Value{typ: TypeU16, bits: uint64(v)} }

// U32 returns a value of type u32.
func U32(v uint32) Value { return Value{typ: TypeU32, bits: uint64(v)} }

// U64 returns a value of type u64.
func U64(v uint64) Value { return Value{typ: TypeU64, bits: v} }

// I8 returns a value of type i8.
func I8(v int8) Value { return Value{typ: TypeI8, bits: uint64(v)} }

// I16 returns a value of type i16.
func I16(v int16) Value { return Value{typ: TypeI16, bits: uint64(v)} }

// I32 returns a value of type i32.
func I32(v int32) Value { return Value{typ: TypeI32, bits: uint64(v)} }

// I64 returns a value of type i64.
func I64(v int64) Value { return Value{typ: TypeI64, bits: uint64(v)} }

// F32 returns a value of type f32.
func F32(v float32) Value { return Value{typ: TypeF32, bits: uint64(math.Float32bits(v))} }

// F64 returns a value of type f64.
func F64(v float64) Value { return Value{typ: TypeF64, bits: math.Float64bits(v)} }

// Str returns a value of type str. It keeps s.
func Str(s []byte) Value { return Value{typ: TypeStr, text: s} }

// EntityID returns a value of type entity.
func EntityID(id uint16) Value { return Value{typ: TypeEntity, bits: uint64(id)} }

// At returns a value of type position.
func At(p Position) Value {
	return Value{typ: TypePosition, bits: uint64(uint16(p.BX))<<32 | uint64(uint16(p.BY))<<16 | uint64(p.X)<<8 | uint64(p.Y)}
}

// Type returns the type of the value.
func (v Value) Type() Type { return v.typ }

// Uint returns the value of a u8 to u64 or an entity's id.
func (v Value) Uint() uint64 { return v.bits }

// Int returns the value of an i8 to i64.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the value of an f32 or f64.
func (v Value) Float() float64 {
	if v.typ == TypeF32 {
		return float64(math.Float32frombits(uint32(v.bits)))
	}
	return math.Float64frombits(v.bits)
}

// Text returns the value of a str.
func (v Value) Text() []byte { return v.text }

// Position returns the value of a position.
func (v Value) Position() Position {
	return Position{BX: int16(v.bits >> 32), BY: int16(v.bits >> 16), X: uint8(v.bits >> 8), Y: uint8(v.bits)}
}

// appendTo appends the value as it is on the wire.
func (v Value) appendTo(b []byte) []byte {
	switch v.typ {
	case TypeStr:
		return appendText(b, v.text)
	case TypePosition:
		return v.Position().appendTo(b)
	}
	switch typeSizes[v.typ] {
	case 1:
		return append(b, byte(v.bits))
	case 2:
		return binary.BigEndian.AppendUint16(b, uint16(v.bits))
	case 4:
		return binary.BigEndian.AppendUint32(b, uint32(v.bits))
	}
	return binary.BigEndian.AppendUint64(b, v.bits)
}

func (p Position) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p.BX))
	b = binary.BigEndian.AppendUint16(b, uint16(p.BY))
	return append(b, p.X, p.Y)
}

func appendText(b, text []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// readValue reads a value of a type. "A float that is NaN or infinite is bad input."
func readValue(r *wire.BigReader, t Type) Value {
	switch t {
	case TypeU8:
		return U8(r.U8("value"))
	case TypeU16:
		return U16(r.U16("value"))
	case TypeU32:
		return U32(r.U32("value"))
	case TypeU64:
		return U64(r.U64("value"))
	case TypeI8:
		return I8(r.I8("value"))
	case TypeI16:
		return I16(r.I16("value"))
	case TypeI32:
		return I32(r.I32("value"))
	case TypeI64:
		return I64(r.I64("value"))
	case TypeF32:
		return F32(r.FiniteF32("value"))
	case TypeF64:
		return F64(r.FiniteF64("value"))
	case TypeStr:
		return Str(readText(r, "value"))
	case TypeEntity:
		return EntityID(r.U16("value"))
	}
	return At(readPosition(r))
}

func readPosition(r *wire.BigReader) Position {
	return Position{BX: r.I16("bx"), BY: r.I16("by"), X: r.U8("x"), Y: r.U8("y")}
}

func readText(r *wire.BigReader, field string) []byte {
	return r.Text(field, int(r.U16(field)), MaxText)
}
