package gateway

import (
	"encoding/binary"
	"math"

	"parley/world"
)

// The bytes that several dialects have in common, each in its own order.

// little is the order of replica and stamp, big that of duplex and relay; both say the size
// of a text in one byte.
var (
	little = world.Order{}
	big    = world.Order{Big: true}
)

func orderOf(o world.Order) binary.AppendByteOrder {
	if o.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func readU16(b []byte, o world.Order) uint16 {
	if o.Big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func readF32(b []byte, o world.Order) float32 {
	if o.Big {
		return math.Float32frombits(binary.BigEndian.Uint32(b))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// readSteering reads "angle f32, norm f32", the whole of b.
func readSteering(b []byte, o world.Order) (st world.Steering, ok bool) {
	if len(b) != 8 {
		return st, false
	}
	return world.Steering{Angle: readF32(b, o), Norm: readF32(b[4:], o), HasAngle: true, HasNorm: true}, true
}

// readParams reads the parameters of an action, the whole of b.
func readParams(a *world.Action, b []byte, o world.Order) (params [world.MaxParams]world.Value, ok bool) {
	for i := range a.Fields {
		v, n, ok := world.ParseValue(a.Fields[i].Type, a.Fields[i].Max, b, o)
		if !ok {
			return params, false
		}
		params[i], b = v, b[n:]
	}
	return params, len(b) == 0
}

// appendParams appends the parameters of an action that was done.
func appendParams(b []byte, ev *world.Event, o world.Order) []byte {
	for i := range ev.Action.Fields {
		b = ev.Params[i].AppendTo(b, o)
	}
	return b
}

// readPlace reads "bx i16, by i16", the whole of b.
func readPlace(b []byte, o world.Order) (world.ChunkPlace, bool) {
	if len(b) != 4 {
		return world.ChunkPlace{}, false
	}
	return world.ChunkPlace{BX: int16(readU16(b, o)), BY: int16(readU16(b[2:], o))}, true
}

// appendFields appends all fields of an entity, in the order of the schema.
func appendFields(b []byte, c *world.Change, o world.Order) []byte {
	for i := range c.Kind.Fields {
		b = c.Value(i).AppendTo(b, o)
	}
	return b
}

// appendText appends a text behind its size in a byte, cut to what that can say.
func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), 255)]
	return append(append(b, byte(len(text))), text...)
}
