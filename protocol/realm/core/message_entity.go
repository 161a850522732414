package core

import (
	"encoding/binary"
	"iter"

	"parley/internal/wire"
)

// Has are the bits of an entity block, "read from left to right". They say which of its fields
// are present.
type Has uint8

// The bits. The other two, 0x10 and 0x08, are refused: "their length is unknown".
const (
	HasPosition   Has = 0x80
	HasSpeedAngle Has = 0x40
	HasSpeedNorm  Has = 0x20
	HasType       Has = 0x04
	HasSprite     Has = 0x02
	HasObject     Has = 0x01

	hasBit3 Has = 0x10
	hasBit4 Has = 0x08
	hasAll      = HasPosition | HasSpeedAngle | HasSpeedNorm | HasType | HasSprite | HasObject
)

// Entity is an entity block: the fields of one entity whose bits are set in Has. Their data
// follows in the order of the bits:
//
//	 0         2          3
//	+---------+----------+------
//	| id u16  | bits u8  | data
//	+---------+----------+------
//
//	bit    field         data
//	0x80   position      bx i16, by i16, x u8, y u8
//	0x40   speed angle   f32, radians
//	0x20   speed norm    f32, distance a tick
//	0x04   type          u16
//	0x02   sprite        u16
//	0x01   object        count u16, then attribute u16 and its value each
type Entity struct {
	ID         uint16
	Has        Has
	Position   Position
	SpeedAngle float32
	SpeedNorm  float32
	Type       uint16
	Sprite     uint16
	Attributes Attributes
}

// Attributes are the attributes of an entity (the object field) in wire form: pairs of a number
// and a value. The zero value has none. They share the memory of the bytes that they were parsed
// from.
type Attributes struct {
	codec *Codec
	count int
	raw   []byte
}

// Attribute is one pair: the number of the attribute and its value.
type Attribute struct {
	ID    uint16
	Value Value
}

// Attributes returns pairs in wire form, in newly allocated memory. The error is ErrUnknown,
// ErrType, ErrValue or ErrTooMany. Those of a block with a type are made by Of.
func (c *Codec) Attributes(list ...Attribute) (Attributes, error) {
	_, a, err := c.AppendAttributes(nil, list...)
	return a, err
}

// AppendAttributes is Attributes without an allocation: it appends the pairs to b. They are
// valid until the caller reuses b, such as for the next tick. With an error, it returns b
// unchanged.
func (c *Codec) AppendAttributes(b []byte, list ...Attribute) ([]byte, Attributes, error) {
	from := len(b)
	if len(list) > MaxListed {
		return b, Attributes{}, ErrTooMany
	}
	for i := range list {
		pair := &list[i]
		f, ok := c.attributes[pair.ID]
		if !ok {
			return b[:from], Attributes{}, ErrUnknown
		}
		if err := pair.Value.check(f.Type); err != nil {
			return b[:from], Attributes{}, err
		}
		b = binary.BigEndian.AppendUint16(b, pair.ID)
		b = pair.Value.appendTo(b)
	}
	return b, Attributes{codec: c, count: len(list), raw: b[from:len(b):len(b)]}, nil
}

// Len returns the number of pairs.
func (a Attributes) Len() int { return a.count }

// All yields the pairs in the order of the wire. If an attribute occurs twice, the last value is
// the valid one.
func (a Attributes) All() iter.Seq2[uint16, Value] {
	return func(yield func(uint16, Value) bool) {
		r := wire.Big(a.raw)
		for range a.count {
			id := r.U16("attribute")
			if !yield(id, readValue(&r, a.codec.attributes[id].Type)) {
				return
			}
		}
	}
}

// Get returns the value of an attribute.
func (a Attributes) Get(id uint16) (value Value, ok bool) {
	for at, v := range a.All() {
		if at == id {
			value, ok = v, true
		}
	}
	return value, ok
}

// Size returns how many bytes the block has on the wire.
func (e *Entity) Size() int {
	n := 3
	for _, f := range [...]struct {
		has  Has
		size int
	}{{HasPosition, 6}, {HasSpeedAngle, 4}, {HasSpeedNorm, 4}, {HasType, 2}, {HasSprite, 2}, {HasObject, 2 + len(e.Attributes.raw)}} {
		if e.Has&f.has != 0 {
			n += f.size
		}
	}
	return n
}

// appendTo appends the block.
func (e *Entity) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, e.ID)
	b = append(b, byte(e.Has))
	if e.Has&HasPosition != 0 {
		b = e.Position.appendTo(b)
	}
	if e.Has&HasSpeedAngle != 0 {
		b = wire.AppendBigF32(b, e.SpeedAngle)
	}
	if e.Has&HasSpeedNorm != 0 {
		b = wire.AppendBigF32(b, e.SpeedNorm)
	}
	if e.Has&HasType != 0 {
		b = binary.BigEndian.AppendUint16(b, e.Type)
	}
	if e.Has&HasSprite != 0 {
		b = binary.BigEndian.AppendUint16(b, e.Sprite)
	}
	if e.Has&HasObject != 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(e.Attributes.count))
		b = append(b, e.Attributes.raw...)
	}
	return b
}

// readBlock reads a block up to the pairs of its attributes, and returns how many those are.
func (e *Entity) readBlock(r *wire.BigReader) (pairs int) {
	*e = Entity{ID: r.U16("entity")}
	at := r.Offset()
	e.Has = Has(r.U8("bitfield"))
	if e.Has&hasBit3 != 0 {
		r.Fail(at, "bitfield", "bit 3 has no meaning")
	}
	if e.Has&hasBit4 != 0 {
		r.Fail(at, "bitfield", "bit 4 has no meaning")
	}
	if e.Has&HasPosition != 0 {
		e.Position = readPosition(r)
	}
	if e.Has&HasSpeedAngle != 0 {
		e.SpeedAngle = r.FiniteF32("speed angle")
	}
	if e.Has&HasSpeedNorm != 0 {
		e.SpeedNorm = r.FiniteF32("speed norm")
	}
	if e.Has&HasType != 0 {
		e.Type = r.U16("type")
	}
	if e.Has&HasSprite != 0 {
		e.Sprite = r.U16("sprite")
	}
	if e.Has&HasObject == 0 {
		return 0
	}
	return int(r.U16("attribute count"))
}

// readPair reads one pair, and fails if the schema does not know it: "an unknown attribute or
// action is an error, as the stream cannot be read on".
func (c *Codec) readPair(r *wire.BigReader) (uint16, Value) {
	at := r.Offset()
	id := r.U16("attribute")
	if !r.OK() {
		return 0, Value{}
	}
	f, ok := c.attributes[id]
	if !ok {
		r.Fail(at, "attribute", c.whyUnknown(id))
		return 0, Value{}
	}
	return id, readValue(r, f.Type)
}

// whyUnknown says why an attribute cannot be read.
func (c *Codec) whyUnknown(id uint16) string {
	for _, own := range c.of {
		if _, ok := own.attributes[id]; ok {
			return "the schema has such an attribute of some types of entities, and this block is of another or does not tell its type"
		}
	}
	return "the schema has no such attribute"
}

// forBlock returns the codec for the attributes of a block. The type comes before them.
func (c *Codec) forBlock(e *Entity) *Codec {
	if e.Has&HasType == 0 {
		return c
	}
	return c.Of(e.Type)
}

// readEntity reads a block that was judged before.
func (c *Codec) readEntity(r *wire.BigReader, all []byte, e *Entity) {
	pairs := e.readBlock(r)
	if e.Has&HasObject == 0 {
		return
	}
	c = c.forBlock(e)
	from := r.Offset()
	for range pairs {
		c.readPair(r)
	}
	e.Attributes = Attributes{codec: c, count: pairs, raw: all[from:r.Offset():r.Offset()]}
}

// Entities are the blocks of an entities_update in wire form. The zero value has none.
type Entities struct {
	codec *Codec
	count int
	raw   []byte
}

// Entities returns blocks in wire form, in newly allocated memory. The error is ErrTooMany or
// ErrValue.
func (c *Codec) Entities(list ...Entity) (Entities, error) {
	_, e, err := c.AppendEntities(nil, list...)
	return e, err
}

// AppendEntities is Entities, but appends to b, as AppendAttributes does.
func (c *Codec) AppendEntities(b []byte, list ...Entity) ([]byte, Entities, error) {
	from := len(b)
	if len(list) > MaxListed {
		return b, Entities{}, ErrTooMany
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return b[:from], Entities{}, err
		}
		b = list[i].appendTo(b)
	}
	return b, Entities{codec: c, count: len(list), raw: b[from:len(b):len(b)]}, nil
}

// Len returns the number of blocks.
func (e Entities) Len() int { return e.count }

// All yields the blocks. Each is valid until the next is yielded.
func (e Entities) All() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		r := wire.Big(e.raw)
		var one Entity
		for range e.count {
			e.codec.readEntity(&r, e.raw, &one)
			if !yield(&one) {
				return
			}
		}
	}
}
