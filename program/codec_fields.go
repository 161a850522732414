package program

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A shape is how an object of JSON shows a P, and how it gives one. An error names the field.
type shape[P any] interface {
	show(p *P) object
	take(p *P, said members) error
}

// An object is printed in its own order.
type object []member

type member struct {
	name  string
	value any
}

// members are the fields of an object that was read.
type members map[string]json.RawMessage

// fields are the shape of a P, in the order that they are printed.
type fields[P any] []field[P]

// A field is one part of a P.
type field[P any] struct {
	name string

	// show returns what is printed, or nil to leave the field out.
	show func(p *P) any

	// take gives p what text says. It is nil if that is nothing. An error names the field.
	take func(p *P, text []byte) error
}

func (all fields[P]) show(p *P) (o object) {
	for _, f := range all {
		if v := f.show(p); v != nil {
			o = append(o, member{f.name, v})
		}
	}
	return o
}

func (all fields[P]) take(p *P, said members) error {
	for _, name := range said.names() {
		if !all.has(name) {
			return fmt.Errorf("%s: no such field; decode shows the names of the fields", name)
		}
	}
	return all.takeKnown(p, said)
}

// takeKnown gives p what its fields say. Fields that are absent are zero.
func (all fields[P]) takeKnown(p *P, said members) error {
	for _, f := range all {
		if err := f.take(p, said.text(f.name)); err != nil {
			return err
		}
	}
	return nil
}

func (all fields[P]) has(name string) bool {
	return slices.ContainsFunc(all, func(f field[P]) bool { return f.name == name })
}

// each returns the fields as change makes them.
func (all fields[P]) each(change func(f field[P]) field[P]) fields[P] {
	all = slices.Clone(all)
	for i, f := range all {
		all[i] = change(f)
	}
	return all
}

// sparse has fields left out if they are zero.
func (all fields[P]) sparse() fields[P] {
	return all.each(func(f field[P]) field[P] {
		show := func(p *P) any {
			if v := f.show(p); !reflect.ValueOf(v).IsZero() {
				return v
			}
			return nil
		}
		return field[P]{f.name, show, f.take}
	})
}

// only has fields in some P. why says in which.
func (all fields[P]) only(has func(p *P) bool, why string) fields[P] {
	return all.each(func(f field[P]) field[P] {
		show := func(p *P) any {
			if !has(p) {
				return nil
			}
			return f.show(p)
		}
		return field[P]{f.name, show, func(p *P, text []byte) error {
			if text != nil && !has(p) {
				return fmt.Errorf("%s: %s", f.name, why)
			}
			return f.take(p, text)
		}}
	})
}

// plainFields are fields that are the same in JSON and in Go. The Go name is the same but for case and underscores, or it follows: "timestamp=Time".
func plainFields[P any](names ...string) (r fields[P]) {
	for _, name := range names {
		name, goName, other := strings.Cut(name, "=")
		if !other {
			goName = strings.ReplaceAll(name, "_", "")
		}
		in, ok := reflect.TypeFor[P]().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, goName) })
		if !ok {
			panic("no field " + goName)
		}
		at := func(p *P) reflect.Value { return reflect.ValueOf(p).Elem().FieldByIndex(in.Index) }
		show := func(p *P) any { return at(p).Interface() }
		r = append(r, field[P]{name, show, func(p *P, text []byte) error { return takeJSON(name, text, at(p).Addr().Interface()) }})
	}
	return r
}

// shapedField is a field that has a type of its own in JSON.
func shapedField[P, S any](name string, show func(p *P) S, take func(p *P, s S) error) fields[P] {
	return fields[P]{{name, func(p *P) any { return show(p) }, func(p *P, text []byte) error {
		var s S
		if err := takeJSON(name, text, &s); err != nil {
			return err
		}
		return take(p, s)
	}}}
}

// numberField is a number with a limit below that of its type.
func numberField[P any, V uint8 | uint16 | uint32](name string, limit V, at func(p *P) *V) fields[P] {
	return shapedField(name, func(p *P) V { return *at(p) }, func(p *P, v V) error {
		*at(p) = v
		return inLimit(name, int(v), int(limit))
	})
}

// textField is bytes that JSON has as text.
func textField[P any](name string, limit int, at func(p *P) *[]byte) fields[P] {
	return shapedField(name, func(p *P) string { return string(*at(p)) }, func(p *P, s string) error {
		*at(p) = []byte(s)
		return inLimit(name, len(s), limit)
	})
}

// reasonField is text that JSON has without the bytes that are not UTF-8.
func reasonField[P any](limit int, at func(p *P) *[]byte, show func(p *P) string) fields[P] {
	reason := textField("reason", limit, at)
	reason[0].show = func(p *P) any { return show(p) }
	return reason
}

// hexField is bytes that JSON has as hex.
func hexField[P any](name string, limit int, at func(p *P) *[]byte) fields[P] {
	return shapedField(name, func(p *P) string { return hex.EncodeToString(*at(p)) }, func(p *P, s string) (err error) {
		if *at(p), err = hex.DecodeString(s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return inLimit(name, len(*at(p)), limit)
	})
}

// objectField is an object within another.
func objectField[P, E any](name string, of shape[E], at func(p *P) *E) fields[P] {
	return fields[P]{{name, func(p *P) any { return of.show(at(p)) }, func(p *P, text []byte) error {
		var said members
		if err := takeJSON(name, text, &said); err != nil {
			return err
		}
		if err := of.take(at(p), said); err != nil {
			return fmt.Errorf("%s.%w", name, err)
		}
		return nil
	}}}
}

// listField is a list of objects.
func listField[P, E any](name string, limit int, of shape[E], at func(p *P) *[]E) fields[P] {
	return wireField(name, limit, of, func(p *P) []E { return *at(p) }, func(p *P, list []E) error { *at(p) = list; return nil })
}

// wireField is a list of objects that P has as bytes: get reads them, and put writes them.
func wireField[P, E any](name string, limit int, of shape[E], get func(p *P) []E, put func(p *P, list []E) error) fields[P] {
	show := func(p *P) any {
		list := []object{} // printed as such if it is empty, not as null
		for _, e := range get(p) {
			list = append(list, of.show(&e))
		}
		return list
	}
	return fields[P]{{name, show, func(p *P, text []byte) error {
		var said []members
		if err := takeJSON(name, text, &said); err != nil {
			return err
		}
		if err := inLimit(name, len(said), limit); err != nil {
			return err
		}
		list := make([]E, len(said))
		for i := range list {
			if err := of.take(&list[i], said[i]); err != nil {
				return fmt.Errorf("%s[%d].%w", name, i, err)
			}
		}
		if err := put(p, list); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}}}
}

// text returns what a field says, or nil if it is absent or null.
func (m members) text(name string) []byte {
	if text := m[name]; string(text) != "null" {
		return text
	}
	return nil
}

// names returns the fields that say something, sorted: of several wrong fields the same is named each time.
func (m members) names() []string {
	said := maps.Clone(m)
	maps.DeleteFunc(said, func(name string, _ json.RawMessage) bool { return m.text(name) == nil })
	return slices.Sorted(maps.Keys(said))
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

// takeJSON reads a value, unless there is none. It says in terms of the packet what encoding/json says in terms of Go.
func takeJSON(name string, text []byte, v any) error {
	if text == nil {
		return nil
	}
	err := json.Unmarshal(text, v)
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	t := strings.ReplaceAll(wrong.Type.String(), "program.members", "object")
	return fmt.Errorf("%s: must be of type %s, not %s", name, t, wrong.Value)
}

// inLimit checks a number, or the size of what a few bits count.
func inLimit(field string, size, limit int) error {
	if size > limit {
		return fmt.Errorf("%s: %d is over the limit of %d", field, size, limit)
	}
	return nil
}

// named finds a value by its name. what says what the values are.
func named[V kind](field, what, name string, values []V) (V, error) {
	for _, v := range values {
		if v.String() == name {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s: no %s is named %q; there are %s", field, what, name, sentenceList(namesOf(values), "and"))
}

func namesOf[V kind](values []V) (names []string) {
	for _, v := range values {
		names = append(names, v.String())
	}
	return names
}
