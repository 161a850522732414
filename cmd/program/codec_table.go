package program

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A table is the JSON of a dialect's packets: which fields each kind has, in the order that they are printed. P is what the
// dialect's own codec reads and writes.
type table[P any, K kind] struct {
	label string // of the field that names the kind
	kind  func(p *P) *K
	kinds map[K][]field[P]
}

type kind interface {
	~uint8
	String() string
}

// A field is one part of a packet.
type field[P any] struct {
	name string

	// show returns what is printed, or nil to leave the field out.
	show func(p *P) any

	// take gives p what text says. It is nil if that is nothing. An error names the field.
	take func(p *P, text []byte) error
}

// plainField is a field that is the same in JSON and in Go.
func plainField[P, V any](name string, at func(p *P) *V) field[P] {
	show := func(p *P) any { return *at(p) }
	return field[P]{name, show, func(p *P, text []byte) error { return takeJSON(name, text, at(p)) }}
}

// shapedField is a field that has a shape of its own in JSON.
func shapedField[P, S any](name string, show func(p *P) S, take func(p *P, s S) error) field[P] {
	return field[P]{name, func(p *P) any { return show(p) }, func(p *P, text []byte) error {
		var s S
		if err := takeJSON(name, text, &s); err != nil {
			return err
		}
		return take(p, s)
	}}
}

// numberField is a number with a limit below that of its type.
func numberField[P any, V uint8 | uint32](name string, limit V, at func(p *P) *V) field[P] {
	return shapedField(name, func(p *P) V { return *at(p) }, func(p *P, v V) error {
		*at(p) = v
		return inLimit(name, int(v), int(limit))
	})
}

// textField is bytes that JSON has as text.
func textField[P any](name string, limit int, at func(p *P) *[]byte) field[P] {
	return shapedField(name, func(p *P) string { return string(*at(p)) }, func(p *P, s string) error {
		*at(p) = []byte(s)
		return inLimit(name, len(s), limit)
	})
}

// hexField is bytes that JSON has as hex.
func hexField[P any](name string, limit int, at func(p *P) *[]byte) field[P] {
	return shapedField(name, func(p *P) string { return hex.EncodeToString(*at(p)) }, func(p *P, s string) (err error) {
		*at(p), err = bytesOf(name, s, limit)
		return err
	})
}

// sparse has a field left out if it is zero.
func (f field[P]) sparse() field[P] {
	show := f.show
	f.show = func(p *P) any {
		if v := show(p); !reflect.ValueOf(v).IsZero() {
			return v
		}
		return nil
	}
	return f
}

// only has a field in some packets of its kind. why says in which.
func (f field[P]) only(has func(p *P) bool, why string) field[P] {
	show, take := f.show, f.take
	f.show = func(p *P) any {
		if !has(p) {
			return nil
		}
		return show(p)
	}
	f.take = func(p *P, text []byte) error {
		if text != nil && !has(p) {
			return fmt.Errorf("%s: %s", f.name, why)
		}
		return take(p, text)
	}
	return f
}

// show returns what decode prints.
func (t *table[P, K]) show(p *P) object {
	of := *t.kind(p)
	o := object{{t.label, of.String()}}
	for _, f := range t.kinds[of] {
		if v := f.show(p); v != nil {
			o = append(o, member{f.name, v})
		}
	}
	return o
}

// take gives p what a line says. Fields that are absent or null are zero.
func (t *table[P, K]) take(p *P, line []byte) error {
	var said map[string]json.RawMessage
	if err := takeJSON("", line, &said); err != nil {
		return err
	}
	of, err := t.named(said[t.label])
	if err != nil {
		return err
	}
	*t.kind(p) = of
	fields := t.kinds[of]
	for _, name := range slices.Sorted(maps.Keys(said)) { // a field that is misspelt, or of another kind, must not be lost
		switch text := string(said[name]); {
		case text == "null":
			delete(said, name)
		case name == t.label || slices.ContainsFunc(fields, func(f field[P]) bool { return f.name == name }):
		case !t.knows(name):
			return fmt.Errorf("json: unknown field %q; decode shows the names of the fields", name)
		case text != `""` && text != "0" && text != "false":
			return fmt.Errorf("%s: %s has no such field; leave it out", name, of)
		}
	}
	for _, f := range fields {
		if err := f.take(p, said[f.name]); err != nil {
			return err
		}
	}
	return nil
}

func (t *table[P, K]) named(text []byte) (K, error) {
	var name string
	if err := takeJSON(t.label, text, &name); err != nil {
		return 0, err
	}
	var names []string
	for _, k := range slices.Sorted(maps.Keys(t.kinds)) {
		if k.String() == name {
			return k, nil
		}
		names = append(names, k.String())
	}
	if text == nil {
		return 0, fmt.Errorf("%s: the field is missing; it must be %s", t.label, sentenceList(names, "or"))
	}
	return 0, fmt.Errorf("%s: no %[1]s is named %q; there are %s", t.label, name, sentenceList(names, "and"))
}

func (t *table[P, K]) knows(name string) bool {
	for _, fields := range t.kinds {
		if slices.ContainsFunc(fields, func(f field[P]) bool { return f.name == name }) {
			return true
		}
	}
	return false
}

// An object is printed in its own order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON is encoding/json's.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := marshalLine(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, m.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// shownList shows each element of a list, which is printed as one if it is empty, too.
func shownList[Said, Shown any](list iter.Seq[Said], show func(Said) Shown) []Shown {
	shown := []Shown{}
	for v := range list {
		shown = append(shown, show(v))
	}
	return shown
}

// takeJSON reads a value, unless there is none. It says in terms of the packet what encoding/json says in terms of Go.
func takeJSON(name string, text []byte, v any) error {
	if text == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("%s: must be of type %s, not %s", strings.Trim(name+"."+wrong.Field, "."), wrong.Type, wrong.Value)
}

// inLimit checks a number, or the size of what a few bits count.
func inLimit(field string, size, limit int) error {
	if size > limit {
		return fmt.Errorf("%s: %d is over the limit of %d", field, size, limit)
	}
	return nil
}

func bytesOf(field, text string, limit int) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return b, inLimit(field, len(b), limit)
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
