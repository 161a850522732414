package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// message is a codec as the dialects write them, shaped like replica's message.
//
//	 0       1       2               4                       12
//	+-------+-------+---------------+-----------------------+
//	| type  | flags | sequence      | time                  |
//	+-------+-------+---------------+-----------------------+
//	| name size u8, name | data size u16, data              |
//	+--------------------+----------------------------------+
type message struct {
	Type, Flags byte
	Sequence    uint16
	Time        uint64
	Name, Data  []byte
}

const (
	messageType  = 6
	maxName      = 255
	maxData      = 65_535
	minMessage   = 15
	flagReliable = 1
	flagOrdered  = 2
)

func (m *message) appendTo(b []byte) []byte {
	b = append(b, m.Type, m.Flags)
	b = binary.LittleEndian.AppendUint16(b, m.Sequence)
	b = binary.LittleEndian.AppendUint64(b, m.Time)
	b = append(b, byte(len(m.Name)))
	b = append(b, m.Name...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Data)))
	return append(b, m.Data...)
}

func (m *message) parse(b []byte) bool {
	r := Little(b)
	m.read(&r)
	return r.Done()
}

func (m *message) explain(b []byte) error {
	r := Little(b)
	m.read(&r)
	r.Done()
	return r.Err()
}

func (m *message) read(r *LittleReader) {
	if m.Type = r.U8("type"); m.Type != messageType {
		r.Fail(0, "type", "not a message")
	}
	if m.Flags = r.U8("flags"); m.Flags&(flagReliable|flagOrdered) == flagOrdered {
		r.Fail(1, "flags", "ordered without reliable")
	}
	m.Sequence = r.U16("sequence")
	m.Time = r.U64("time")
	m.Name = r.Text("name", int(r.U8("name size")), maxName)
	m.Data = r.Bytes("data", int(r.U16("data size")), maxData)
}

func (m *message) equal(o *message) bool {
	return m.Type == o.Type && m.Flags == o.Flags && m.Sequence == o.Sequence && m.Time == o.Time &&
		bytes.Equal(m.Name, o.Name) && bytes.Equal(m.Data, o.Data)
}

func (m *message) randomise(r *rand.Rand, text string) {
	m.Type, m.Flags = messageType, byte(r.Uint32())&^flagOrdered
	m.Sequence, m.Time = uint16(r.Uint32()), r.Uint64()
	m.Name = append(m.Name[:0], text[:r.IntN(len(text)+1)]...)
	m.Data = m.Data[:0]
	for range r.IntN(40) {
		m.Data = append(m.Data, byte(r.Uint32()))
	}
}

// update is a codec with lists in lists, in the other byte order: a tick, a
// count, and entities with an angle and attributes.
type update struct {
	Tick     uint16
	Entities []entity
}

type entity struct {
	ID         uint32 // 24 bits
	Angle      float32
	Attributes []attribute
}

type attribute struct {
	ID    uint16
	Value []byte
}

const (
	maxEntities   = 64
	maxAttributes = 16
	minEntity     = 8 // id, angle, count
	minAttribute  = 3 // id, size
)

func (u *update) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, u.Tick)
	b = binary.BigEndian.AppendUint16(b, uint16(len(u.Entities)))
	for i := range u.Entities {
		e := &u.Entities[i]
		b = AppendBigU24(b, e.ID)
		b = AppendBigF32(b, e.Angle)
		b = append(b, byte(len(e.Attributes)))
		for j := range e.Attributes {
			b = binary.BigEndian.AppendUint16(b, e.Attributes[j].ID)
			b = append(b, byte(len(e.Attributes[j].Value)))
			b = append(b, e.Attributes[j].Value...)
		}
	}
	return b
}

func (u *update) parse(b []byte) bool {
	r := Big(b)
	u.read(&r)
	return r.Done()
}

func (u *update) explain(b []byte) error {
	r := Big(b)
	u.read(&r)
	r.Done()
	return r.Err()
}

func (u *update) read(r *BigReader) {
	u.Tick = r.U16("tick")
	n := r.Count("entities", int(r.U16("entity count")), maxEntities, minEntity)
	u.Entities = resize(u.Entities, n)
	for i := range u.Entities {
		u.Entities[i].read(r)
		if !r.In("entities", i) {
			return
		}
	}
}

func (e *entity) read(r *BigReader) {
	e.ID = r.U24("id")
	e.Angle = r.FiniteF32("angle")
	n := r.Count("attributes", int(r.U8("attribute count")), maxAttributes, minAttribute)
	e.Attributes = resize(e.Attributes, n)
	for i := range e.Attributes {
		a := &e.Attributes[i]
		a.ID = r.U16("id")
		a.Value = r.Bytes("value", int(r.U8("value size")), 255)
		if !r.In("attributes", i) {
			return
		}
	}
}

// resize returns s with n elements, reusing its memory.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n)
}

func (u *update) randomise(r *rand.Rand) {
	u.Tick = uint16(r.Uint32())
	u.Entities = resize(u.Entities, r.IntN(4))
	for i := range u.Entities {
		e := &u.Entities[i]
		e.ID, e.Angle = r.Uint32()&0xff_ffff, r.Float32()*7-3
		e.Attributes = resize(e.Attributes, r.IntN(4))
		for j := range e.Attributes {
			a := &e.Attributes[j]
			a.ID, a.Value = uint16(r.Uint32()), resize(a.Value, r.IntN(9))
			for k := range a.Value {
				a.Value[k] = byte(r.Uint32())
			}
		}
	}
}
