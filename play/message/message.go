package message

import (
	"encoding/binary"
	"math"

	"parley/internal/wire"
	"parley/world"
)

// The orders of the dialects. In both, the size of a text is one byte.
var (
	Little = world.Order{}          // replica and stamp
	Big    = world.Order{Big: true} // relay and duplex
)

// ServerName is the name under which the server itself speaks.
const ServerName = "server"

func order(o world.Order) binary.AppendByteOrder {
	if o.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// AppendSteer appends "angle f32, norm f32".
func AppendSteer(b []byte, angle, norm float32, o world.Order) []byte {
	b = order(o).AppendUint32(b, math.Float32bits(angle))
	return order(o).AppendUint32(b, math.Float32bits(norm))
}

// ParseSteer reads what AppendSteer writes.
func ParseSteer(b []byte, o world.Order) (st world.Steering, ok bool) {
	r := read(b, o)
	st = world.Steering{Angle: r.f32("angle"), Norm: r.f32("norm"), HasAngle: true, HasNorm: true}
	return st, r.Done()
}

// AppendParams appends the parameters of an action, of which fields has one each.
func AppendParams(b []byte, fields []world.Field, params []world.Value, o world.Order) []byte {
	for i := range params {
		b = fields[i].Encode(params[i]).AppendTo(b, o)
	}
	return b
}

// ParseParams reads the parameters of an action.
func ParseParams(a *world.Action, b []byte, o world.Order) (params [world.MaxParams]world.Value, ok bool) {
	rest, ok := ParseFields(params[:], a.Fields, b, o)
	return params, ok && len(rest) == 0
}

// AppendAct appends "action u16, parameters".
func AppendAct(b []byte, a *world.Action, params []world.Value, o world.Order) []byte {
	return AppendParams(order(o).AppendUint16(b, uint16(a.Number)), a.Fields, params, o)
}

// ParseAct reads what AppendAct writes. The action is one of s.
func ParseAct(s *world.Schema, b []byte, o world.Order) (a *world.Action, params [world.MaxParams]world.Value, ok bool) {
	r := read(b, o)
	if a = s.Action(int(r.u16("action"))); a == nil || !r.OK() {
		return nil, params, false
	}
	params, ok = ParseParams(a, r.rest(), o)
	return a, params, ok
}

// AppendPlace appends "bx i16, by i16", which asks for a chunk.
func AppendPlace(b []byte, at world.ChunkPlace, o world.Order) []byte {
	return order(o).AppendUint16(order(o).AppendUint16(b, uint16(at.BX)), uint16(at.BY))
}

// ParsePlace reads what AppendPlace writes.
func ParsePlace(b []byte, o world.Order) (at world.ChunkPlace, ok bool) {
	r := read(b, o)
	at = world.ChunkPlace{BX: int16(r.u16("bx")), BY: int16(r.u16("by"))}
	return at, r.Done()
}

// AppendSaid appends "name size u8, name, text": a line of chat. A name of more than 255 bytes is cut.
func AppendSaid(b []byte, name string, text []byte) []byte {
	return append(appendName(b, name), text...)
}

// ParseSaid reads what AppendSaid writes.
func ParseSaid(b []byte) (name, text []byte, ok bool) {
	r := read(b, Big)
	name = r.name()
	return name, r.rest(), r.OK()
}

func appendName[T string | []byte](b []byte, name T) []byte {
	name = name[:min(len(name), math.MaxUint8)]
	return append(append(b, byte(len(name))), name...)
}

// AppendFields appends all fields of an entity, in the order of its kind.
func AppendFields(b []byte, c *world.Change, o world.Order) []byte {
	for i := range c.Kind.Fields {
		b = c.Kind.Fields[i].Encode(c.Value(i)).AppendTo(b, o)
	}
	return b
}

// ParseFields reads a value for each of fields, and returns the bytes behind them. values must be at least as
// long as fields.
func ParseFields(values []world.Value, fields []world.Field, b []byte, o world.Order) (rest []byte, ok bool) {
	for i := range fields {
		v, n, ok := fields[i].Parse(b, o)
		if !ok {
			return nil, false
		}
		values[i], b = v, b[n:]
	}
	return b, true
}

// Done is an action that an entity in sight has done.
type Done struct {
	Entity uint16 // the number of the actor, 0 in replica
	Actor  Link   // the actor, in replica only
	Tick   uint32 // in duplex only the lower 16 bits; 0 in relay
	Action *world.Action
	Params [world.MaxParams]world.Value // one for each of Action.Fields
}

// reader is a cursor in either order.
type reader struct {
	wire.Reader
	big bool
}

func read(b []byte, o world.Order) reader { return reader{wire.Big(b).Reader, o.Big} }

func (r *reader) u16(field string) uint16 {
	high, low := r.U8(field), r.U8(field)
	if !r.big {
		high, low = low, high
	}
	return uint16(high)<<8 | uint16(low)
}

func (r *reader) u32(field string) uint32 {
	high, low := r.u16(field), r.u16(field)
	if !r.big {
		high, low = low, high
	}
	return uint32(high)<<16 | uint32(low)
}

func (r *reader) u64(field string) uint64 {
	high, low := r.u32(field), r.u32(field)
	if !r.big {
		high, low = low, high
	}
	return uint64(high)<<32 | uint64(low)
}

func (r *reader) f32(field string) float32 { return math.Float32frombits(r.u32(field)) }

func (r *reader) name() []byte { return r.Bytes("name", int(r.U8("name size")), math.MaxUint8) }

func (r *reader) rest() []byte { return r.Rest("rest", math.MaxInt) }
