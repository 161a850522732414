package world

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

// A Type is the type of a field: one of replica's data types, or an entity.
type Type uint8

// The types. Zero is none.
const (
	Bool Type = iota + 1
	U8
	U16
	U32
	U64
	I8
	I16
	I32
	I64
	F32
	F64
	Text
	Entity // u16 on the wire: the number that clients know it by
)

var typeNames = [...]string{"unset", "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "string", "entity"}

// typeBytes are the sizes on the wire; a text's is its size byte.
var typeBytes = [...]int{0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1, 2}

func (t Type) String() string { return nameIn(typeNames[:], int(t)) }

// nameIn returns the i-th of names, or the first, which is unset.
func nameIn(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return names[0]
}

// Bytes returns the size of a value on the wire. For Text it is the size of the length
// prefix only.
func (t Type) Bytes() int {
	if int(t) < len(typeBytes) {
		return typeBytes[t]
	}
	return 0
}

// A Value is the value of a field, of any type. The zero Value has no type.
type Value struct {
	Type Type
	bits uint64 // integers sign-extended, floats as their bits, an entity as its number
	text string
}

// UintValue returns a value of an unsigned type, of Bool or of Entity.
func UintValue(t Type, v uint64) Value { return Value{Type: t, bits: v} }

// IntValue returns a value of a signed type.
func IntValue(t Type, v int64) Value { return Value{Type: t, bits: uint64(v)} }

// FloatValue returns a value of F32 or F64.
func FloatValue(t Type, v float64) Value {
	if t == F32 {
		return Value{Type: t, bits: uint64(math.Float32bits(float32(v)))}
	}
	return Value{Type: t, bits: math.Float64bits(v)}
}

// TextValue returns a value of Text.
func TextValue(s string) Value { return Value{Type: Text, text: s} }

// Uint returns the value of an unsigned type. A Bool is 0 or 1. An Entity is the number
// by which clients know it (inside Step: its ID).
func (v Value) Uint() uint64 { return v.bits }

// Int returns the value of a signed type.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the value of F32 or F64.
func (v Value) Float() float64 {
	if v.Type == F32 {
		return float64(math.Float32frombits(uint32(v.bits)))
	}
	return math.Float64frombits(v.bits)
}

// Text returns the value of Text.
func (v Value) Text() string { return v.text }

// Finite reports whether v is neither NaN nor infinite.
func (v Value) Finite() bool {
	if v.Type != F32 && v.Type != F64 {
		return true
	}
	f := v.Float()
	return f-f == 0
}

func (v Value) String() string {
	switch v.Type {
	case Bool:
		return strconv.FormatBool(v.bits != 0)
	case I8, I16, I32, I64:
		return strconv.FormatInt(v.Int(), 10)
	case F32:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case F64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case Text:
		return strconv.Quote(v.text)
	}
	return strconv.FormatUint(v.bits, 10)
}

// An Order is how a dialect writes values: its byte order, and whether the size of a text
// is a u16, as in realm, or a u8.
type Order struct {
	Big      bool
	WideText bool
}

// AppendTo appends the value as the dialect writes it. The schema limits a text to what
// its size field can hold.
func (v Value) AppendTo(b []byte, o Order) []byte {
	if v.Type == Text {
		v.text = v.text[:min(len(v.text), maxTextBytes)]
		if o.WideText {
			b = append(b, byte(len(v.text)>>8), byte(len(v.text)))
		} else {
			b = append(b, byte(len(v.text)))
		}
		return append(b, v.text...)
	}
	var word [8]byte
	n := v.Type.Bytes()
	if o.Big {
		binary.BigEndian.PutUint64(word[:], v.bits)
		return append(b, word[8-n:]...)
	}
	binary.LittleEndian.PutUint64(word[:], v.bits)
	return append(b, word[:n]...)
}

// ParseValue reads a value from the front of b and returns its size. ok is false if b is
// too short, a text is not UTF-8 or longer than max, a float is NaN or infinite, or a
// bool is neither 0 nor 1. The text is copied.
func ParseValue(t Type, max int, b []byte, o Order) (v Value, n int, ok bool) {
	if t == Text {
		return parseText(max, b, o)
	}
	n = t.Bytes()
	if n == 0 || len(b) < n {
		return Value{}, 0, false
	}
	v = Value{Type: t}
	for i := range n {
		at := i
		if !o.Big {
			at = n - 1 - i
		}
		v.bits = v.bits<<8 | uint64(b[at])
	}
	switch t {
	case I8, I16, I32:
		shift := 64 - 8*n
		v.bits = uint64(int64(v.bits<<shift) >> shift)
	case Bool:
		if v.bits > 1 {
			return Value{}, 0, false
		}
	}
	if !v.Finite() {
		return Value{}, 0, false
	}
	return v, n, true
}

func parseText(max int, b []byte, o Order) (v Value, n int, ok bool) {
	size, at := 0, 1
	if o.WideText {
		at = 2
	}
	if len(b) < at {
		return Value{}, 0, false
	}
	for _, c := range b[:at] {
		size = size<<8 | int(c)
	}
	if size > max || len(b) < at+size || !utf8.Valid(b[at:at+size]) {
		return Value{}, 0, false
	}
	return TextValue(string(b[at : at+size])), at + size, true
}
