package world

import (
	"math"
	"unsafe"
)

// A quantised float is a whole number of steps, and that number is what travels. The world itself holds the
// rounded value: it is rounded when a step ends, before the state is hashed, recorded and published, so that
// server, recording, replay and clients have the same float to the bit.

// Encode returns a value of the field as it travels: with the tag q= the number of steps, of type Wire, and
// else the value itself. A value out of the range is clamped, NaN is 0.
func (f *Field) Encode(v Value) Value {
	if f.Step == 0 {
		return v
	}
	return f.encode(v)
}

// encode stands apart, so that fields which are not quantised cost no call.
func (f *Field) encode(v Value) Value {
	return Value{Type: f.Wire, bits: uint64(f.steps(v.Float()))}
}

// Decode returns the value that Encode was given, once it is rounded. It is false for a number of steps out of
// the range, which Encode does not return.
func (f *Field) Decode(v Value) (Value, bool) {
	if f.Step == 0 {
		return v, true
	}
	n := int64(v.bits)
	return FloatValue(f.Type, f.float(n)), v.Type == f.Wire && n >= f.low && n <= f.high
}

// Parse reads a value of the field from the front of b, as ParseValue does.
func (f *Field) Parse(b []byte, o Order) (v Value, n int, ok bool) {
	v, n, ok = ParseValue(f.Wire, f.Max, b, o)
	if ok && f.Step != 0 {
		v, ok = f.Decode(v)
	}
	return v, n, ok
}

// rounded returns a value of the field as the world holds it.
func (f *Field) rounded(v Value) Value {
	if f.Step == 0 {
		return v
	}
	return FloatValue(f.Type, f.float(f.steps(v.Float())))
}

// steps returns the number of steps that is nearest to a float and in the range.
func (f *Field) steps(v float64) int64 {
	n := math.Floor(v/f.Step + 0.5)
	if n != n || f.turn && n-n != 0 { // NaN, and what is no direction
		n = 0
	}
	if f.turn {
		turns := float64(f.high - f.low + 1)
		if n = math.Mod(n-float64(f.low), turns); n < 0 {
			n += turns
		}
		return int64(n) + f.low
	}
	return int64(max(float64(f.low), min(n, float64(f.high))))
}

// float returns a number of steps as the field has it. It is one product, rounded to the field's type: there is
// nothing in it that two machines could do in another way.
func (f *Field) float(n int64) float64 {
	v := float64(float64(n) * f.Step)
	if f.Type == F32 {
		return float64(float32(v))
	}
	return v
}

// round rounds the field of a row.
func (f *Field) round(row unsafe.Pointer) {
	if f.Type == F32 {
		p := (*float32)(f.at(row))
		*p = float32(f.float(f.steps(float64(*p))))
		return
	}
	p := (*float64)(f.at(row))
	*p = f.float(f.steps(*p))
}

// round rounds what is quantised of an entity. That is no motion of the game's own, of which a client that moves
// its body itself would have to be told.
func (w *World) round(t *table, row int, before *snapshot) {
	k, p := t.kind, t.at(row)
	for i := range k.rounds {
		k.rounds[i].round(p)
	}
	if !k.HasBody {
		return
	}
	b := t.body(row)
	own := b.sum() == b.moved
	if k.angled {
		b.Angle, b.Norm = k.roundBody(FieldAngle, b.Angle), k.roundBody(FieldNorm, b.Norm)
	}
	if k.placed {
		w.roundPlace(t, row, before)
	}
	if own {
		b.moved = b.sum()
	}
}

// roundBody rounds the angle or the norm of a body.
func (k *Kind) roundBody(field int, v float32) float32 {
	if f := &k.Fields[field]; f.Step != 0 {
		return float32(f.float(f.steps(float64(v))))
	}
	return v
}

// steered returns a norm that a client may have, rounded to one that it may have too.
func (k *Kind) steered(norm float32) float32 {
	if f := &k.Fields[FieldNorm]; f.Step != 0 {
		n := f.steps(float64(norm))
		if f.float(n) > k.MaxSpeed {
			n--
		}
		return float32(f.float(n))
	}
	return norm
}

// roundPlace brings a body to the grid: to the nearest of the places around it. If its outline would be over
// something solid there, where it could walk on through the wall, it is brought to another of the four, and if
// there is none it stays where it was before the step.
func (w *World) roundPlace(t *table, row int, before *snapshot) {
	b := t.body(row)
	fx, fy := &t.kind.Fields[FieldX], &t.kind.Fields[FieldY]
	x, y := fx.float(fx.steps(b.X)), fy.float(fy.steps(b.Y))
	if x == b.X && y == b.Y {
		return
	}
	fromX, fromY, h := b.X, b.Y, w.Hitbox(b)
	b.X, b.Y = x, y
	if w.stands(x, y, h) || !w.stands(fromX, fromY, h) {
		return
	}
	otherX, otherY := fx.beyond(x, fromX), fy.beyond(y, fromY)
	for _, at := range [...][2]float64{{otherX, y}, {x, otherY}, {otherX, otherY}} {
		if w.stands(at[0], at[1], h) {
			b.X, b.Y = at[0], at[1]
			return
		}
	}
	if was := before.body(t, row); was != nil {
		b.X, b.Y = was.X, was.Y
	}
}

// beyond returns the step on the other side of a float that was rounded.
func (f *Field) beyond(rounded, from float64) float64 {
	n := f.steps(rounded)
	switch {
	case from > rounded:
		n++
	case from < rounded:
		n--
	}
	return f.float(max(f.low, min(n, f.high)))
}

// body returns the body of an entity as it was, or nil if there was none.
func (s *snapshot) body(t *table, row int) *Body {
	if s == nil {
		return nil
	}
	c := &s.tables[t.kind.index]
	if row >= c.high || c.ids[row] != t.ids[row] {
		return nil
	}
	return c.body(t, row)
}

// snap returns the place on the grid that is nearest to another in the same cell, or the place itself if the kind
// has no grid. It is false if the grid does not reach that cell.
func (k *Kind) snap(x, y float64) (float64, float64, bool) {
	if !k.placed {
		return x, y, true
	}
	x, okX := k.Fields[FieldX].snap(x)
	y, okY := k.Fields[FieldY].snap(y)
	return x, y, okX && okY
}

func (f *Field) snap(v float64) (float64, bool) {
	cell, n := math.Floor(v), f.steps(v)
	switch low := math.Floor(f.float(n)); {
	case low > cell:
		n--
	case low < cell:
		n++
	}
	n = max(f.low, min(n, f.high))
	return f.float(n), math.Floor(f.float(n)) == cell
}
