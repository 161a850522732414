package message

import (
	"encoding/binary"

	"parley/world"
)

// Stamp says which input of a client this is, and when it is meant for: "number u32, tick u32, shown u32". A client that does not
// predict sends none.
type Stamp struct {
	Number uint32 // 1, 2, 3 … of this client
	Tick   uint32 // for which the input is meant
	Shown  uint32 // the tick of the others that was on the screen
}

// StampBytes is the size of a stamp.
const StampBytes = 12

// AppendTo appends the stamp. In replica and relay it is the end of a steer or an act: append it to what AppendSteer, AppendParams
// or AppendAct wrote.
func (s Stamp) AppendTo(b []byte, o world.Order) []byte {
	b = order(o).AppendUint32(b, s.Number)
	b = order(o).AppendUint32(b, s.Tick)
	return order(o).AppendUint32(b, s.Shown)
}

// ParseStamp reads what Stamp.AppendTo writes.
func ParseStamp(b []byte, o world.Order) (s Stamp, ok bool) {
	r := read(b, o)
	s = r.stamp()
	return s, r.Done()
}

func (r *reader) stamp() Stamp { return Stamp{r.u32("number"), r.u32("tick"), r.u32("shown")} }

// endStamp reads the end of a message: a stamp, or nothing. What is before it marks its own end, so no parameter is taken for
// a stamp.
func endStamp(b []byte, o world.Order) (s Stamp, stamped, ok bool) {
	if len(b) == 0 {
		return s, false, true
	}
	s, ok = ParseStamp(b, o)
	return s, ok, ok
}

// ParseStampedSteer reads "angle f32, norm f32" of replica and relay, with a stamp behind it or without.
func ParseStampedSteer(b []byte, o world.Order) (st world.Steering, s Stamp, stamped, ok bool) {
	const steerBytes = 8
	st, ok = ParseSteer(b[:min(len(b), steerBytes)], o)
	if !ok {
		return st, s, false, false
	}
	s, stamped, ok = endStamp(b[steerBytes:], o)
	return st, s, stamped, ok
}

// ParseStampedParams reads the parameters of an action in a message of replica, with a stamp behind them or without.
func ParseStampedParams(a *world.Action, b []byte, o world.Order) (params [world.MaxParams]world.Value, s Stamp, stamped, ok bool) {
	rest, ok := ParseFields(params[:], a.Fields, b, o)
	if !ok {
		return params, s, false, false
	}
	s, stamped, ok = endStamp(rest, o)
	return params, s, stamped, ok
}

// ParseStampedAct reads "action u16, parameters" of relay, with a stamp behind it or without. The action is one of schema.
func ParseStampedAct(schema *world.Schema, b []byte, o world.Order) (a *world.Action, params [world.MaxParams]world.Value, s Stamp, stamped, ok bool) {
	r := read(b, o)
	if a = schema.Action(int(r.u16("action"))); a == nil || !r.OK() {
		return nil, params, s, false, false
	}
	params, s, stamped, ok = ParseStampedParams(a, r.rest(), o)
	return a, params, s, stamped, ok
}

// AppendDuplexSteer appends "stamp, angle f32, norm f32".
func AppendDuplexSteer(b []byte, s Stamp, angle, norm float32) []byte {
	return AppendSteer(s.AppendTo(b, Big), angle, norm, Big)
}

// ParseDuplexSteer reads what AppendDuplexSteer writes.
func ParseDuplexSteer(b []byte) (s Stamp, st world.Steering, ok bool) {
	r := read(b, Big)
	if s = r.stamp(); !r.OK() {
		return s, st, false
	}
	st, ok = ParseSteer(r.rest(), Big)
	return s, st, ok
}

// AppendDuplexAct appends "action u16, stamp, parameters".
func AppendDuplexAct(b []byte, a *world.Action, s Stamp, params []world.Value) []byte {
	b = s.AppendTo(binary.BigEndian.AppendUint16(b, uint16(a.Number)), Big)
	return AppendParams(b, a.Fields, params, Big)
}

// ParseDuplexAct reads what AppendDuplexAct writes. The action is one of schema.
func ParseDuplexAct(schema *world.Schema, b []byte) (a *world.Action, s Stamp, params [world.MaxParams]world.Value, ok bool) {
	r := read(b, Big)
	a, s = schema.Action(int(r.u16("action"))), r.stamp()
	if a == nil || !r.OK() {
		return nil, s, params, false
	}
	params, ok = ParseParams(a, r.rest(), Big)
	return a, s, params, ok
}

// Fate says what became of a client's inputs: "tick u32, number u32, margin i8". In relay records follow it, and in duplex the
// client's own entity.
type Fate struct {
	Tick   uint32 // of the world
	Number uint32 // the highest of those inputs that were done or refused by then, 0 before the first
	Margin int8   // by how many ticks the newest input came before it was needed; negative if it was late
}

// FateBytes is the size of a fate.
const FateBytes = 9

// AppendTo appends the fate.
func (f Fate) AppendTo(b []byte, o world.Order) []byte {
	b = order(o).AppendUint32(b, f.Tick)
	b = order(o).AppendUint32(b, f.Number)
	return append(b, byte(f.Margin))
}

// ParseFate reads what Fate.AppendTo writes, and returns the bytes behind it. In replica there must be none.
func ParseFate(b []byte, o world.Order) (f Fate, rest []byte, ok bool) {
	r := read(b, o)
	f = Fate{r.u32("tick"), r.u32("number"), int8(r.U8("margin"))}
	return f, r.rest(), r.OK()
}
