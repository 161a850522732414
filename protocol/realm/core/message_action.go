package core

import (
	"encoding/binary"
	"iter"
	"unicode/utf8"

	"parley/internal/wire"
)

// Action is an action of the game, "characterised by an id and optional parameters". The Schema
// gives the types of the parameters.
//
//	 0            2
//	+------------+---------------------------------+
//	| action u16 | parameters, as the schema says  |
//	+------------+---------------------------------+
type Action struct {
	ID     uint16
	Params Fields
}

// Fields are consecutive values in wire form, with the names and types of a schema. The zero
// value has none.
type Fields struct {
	fields []Field
	raw    []byte
}

// Action returns an action with its parameters, in newly allocated memory. The error is
// ErrUnknown, ErrType or ErrValue.
func (c *Codec) Action(id uint16, params ...Value) (Action, error) {
	_, a, err := c.AppendAction(nil, id, params...)
	return a, err
}

// AppendAction is Action, but appends the parameters to b, as AppendAttributes does.
func (c *Codec) AppendAction(b []byte, id uint16, params ...Value) ([]byte, Action, error) {
	fields, ok := c.actions[id]
	if !ok {
		return b, Action{}, ErrUnknown
	}
	b, f, err := appendFields(b, fields, params)
	return b, Action{ID: id, Params: f}, err
}

// Extension returns the fields that the game adds to config. The error is ErrType or ErrValue.
func (c *Codec) Extension(values ...Value) (Fields, error) {
	_, f, err := appendFields(nil, c.config, values)
	return f, err
}

func appendFields(b []byte, fields []Field, values []Value) ([]byte, Fields, error) {
	from := len(b)
	if len(values) != len(fields) {
		return b, Fields{}, ErrType
	}
	for i := range values {
		if err := values[i].check(fields[i].Type); err != nil {
			return b[:from], Fields{}, err
		}
		b = values[i].appendTo(b)
	}
	return b, Fields{fields: fields, raw: b[from:len(b):len(b)]}, nil
}

// Len returns the number of values.
func (f Fields) Len() int { return len(f.fields) }

// All yields the values with their names.
func (f Fields) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		r := wire.Big(f.raw)
		for _, field := range f.fields {
			if !yield(field.Name, readValue(&r, field.Type)) {
				return
			}
		}
	}
}

// Get returns the value of the i-th field, which must exist.
func (f Fields) Get(i int) Value {
	r := wire.Big(f.raw)
	var v Value
	for _, field := range f.fields[:i+1] {
		v = readValue(&r, field.Type)
	}
	return v
}

// appendTo appends the values. Without any the wire has those of zero for each field: a
// message must not end before its layout does.
func (f Fields) appendTo(b []byte, fields []Field) []byte {
	if f.raw != nil {
		return append(b, f.raw...)
	}
	for _, field := range fields {
		b = append(b, make([]byte, typeSizes[field.Type])...)
	}
	return b
}

func (c *Codec) appendAction(b []byte, a *Action) []byte {
	b = binary.BigEndian.AppendUint16(b, a.ID)
	return a.Params.appendTo(b, c.actions[a.ID])
}

// readActionID reads which action it is, and returns its parameters.
func (c *Codec) readActionID(r *wire.BigReader) (uint16, []Field) {
	at := r.Offset()
	id := r.U16("action")
	if !r.OK() {
		return 0, nil
	}
	params, ok := c.actions[id]
	if !ok {
		r.Fail(at, "action", "the schema has no such action")
	}
	return id, params
}

// readAction reads an action that was judged before.
func (c *Codec) readAction(r *wire.BigReader, all []byte, a *Action) {
	*a = Action{}
	a.ID, a.Params.fields = c.readActionID(r)
	a.Params.raw = readFields(r, all, a.Params.fields)
}

func readFields(r *wire.BigReader, all []byte, fields []Field) []byte {
	from := r.Offset()
	for _, f := range fields {
		readValue(r, f.Type)
	}
	return all[from:r.Offset():r.Offset()]
}

// Done is a completed action, with the entity that did it.
type Done struct {
	By     uint16
	Action Action
}

// Actions are the actions of an actions_done in wire form. The zero value has none.
type Actions struct {
	codec *Codec
	count int
	raw   []byte
}

// Actions returns actions in wire form, in newly allocated memory. The error is ErrTooMany or
// ErrUnknown.
func (c *Codec) Actions(list ...Done) (Actions, error) {
	_, a, err := c.AppendActions(nil, list...)
	return a, err
}

// AppendActions is Actions, but appends to b, as AppendAttributes does.
func (c *Codec) AppendActions(b []byte, list ...Done) ([]byte, Actions, error) {
	from := len(b)
	if len(list) > MaxListed {
		return b, Actions{}, ErrTooMany
	}
	for i := range list {
		if _, ok := c.actions[list[i].Action.ID]; !ok {
			return b[:from], Actions{}, ErrUnknown
		}
		b = binary.BigEndian.AppendUint16(b, list[i].By)
		b = c.appendAction(b, &list[i].Action)
	}
	return b, Actions{codec: c, count: len(list), raw: b[from:len(b):len(b)]}, nil
}

// Len returns the number of actions.
func (a Actions) Len() int { return a.count }

// All yields the actions.
func (a Actions) All() iter.Seq[Done] {
	return func(yield func(Done) bool) {
		r := wire.Big(a.raw)
		for range a.count {
			d := Done{By: r.U16("entity")}
			a.codec.readAction(&r, a.raw, &d.Action)
			if !yield(d) {
				return
			}
		}
	}
}

// check returns why a value may not be sent as one of type t.
func (v Value) check(t Type) error {
	switch {
	case v.typ != t:
		return ErrType
	case (t == TypeF32 || t == TypeF64) && !isFinite(v.Float()):
		return ErrValue
	case t == TypeStr && (len(v.text) > MaxText || !utf8.Valid(v.text)):
		return ErrValue
	}
	return nil
}

// check returns why a block may not be sent.
func (e *Entity) check() error {
	if e.Has&^hasAll != 0 || !isFinite(float64(e.SpeedAngle)) || !isFinite(float64(e.SpeedNorm)) {
		return ErrValue
	}
	return nil
}

// isFinite is false for NaN, whose difference to itself is not 0, and for infinities.
func isFinite(v float64) bool { return v-v == 0 }
