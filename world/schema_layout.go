package world

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// A layout flattens a struct: each value in it becomes a field, with the values of arrays and of nested structs
// in their order. The name of a field is the way to it, as Go writes it but in lower_case: slots[2].count. An
// embedded struct adds nothing to the way, as its fields are those of the outer struct.
type layout struct {
	kind   *Kind   // one of these is set
	action *Action //

	fields *[]Field
	hidden *[]Field // nil for an action, which has none

	counts map[reflect.Type]counted
	attr   int // the number of the next field within an array or a struct with the tag attr=, or -1
}

// A place is where a layout has come to.
type place struct {
	of     string // the Go type that is flattened
	path   string // the way from there as Go writes it, for errors
	name   string // and as clients know it
	offset uintptr
	root   bool // the struct itself, or one that is embedded in it
	secret bool // below an unexported field
}

// field returns a place inside a struct.
func (p place) field(f *reflect.StructField, name string) place {
	in := place{of: p.of, path: below(p.path, f.Name), name: p.name, offset: p.offset + f.Offset, secret: p.secret}
	if name != "" {
		in.name = below(p.name, name)
	}
	return in
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// element returns a place inside an array.
func (p place) element(i int, size uintptr) place {
	index := fmt.Sprintf("[%d]", i)
	p.path, p.name, p.offset = p.path+index, p.name+index, p.offset+uintptr(i)*size
	return p
}

// takeStruct adds the fields of a struct.
func (l *layout) takeStruct(t reflect.Type, in place) error {
	for i := range t.NumField() {
		f := t.Field(i)
		text, there := f.Tag.Lookup("parley")
		tag, err := parseTag(text)
		if !there && strings.Contains(string(f.Tag), "parley:") {
			err = errors.New("the tag `" + string(f.Tag) + "` cannot be read: write parley, a colon and a quoted text, without a space")
		}
		at := in.field(&f, tag.nameOf(f.Name))
		if err == nil {
			err = l.takeField(&f, tag, in, at)
		}
		var bad *fieldError
		if err != nil && !errors.As(err, &bad) {
			err = &fieldError{"field " + at.path + ": " + err.Error()}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A fieldError says which field it is of.
type fieldError struct{ text string }

func (e *fieldError) Error() string { return e.text }

func (l *layout) takeField(f *reflect.StructField, tag tag, in, at place) error {
	embedded := f.Anonymous && f.Type.Kind() == reflect.Struct && tag.name == ""
	switch {
	case f.Type == bodyType && f.Anonymous && in.root && l.kind != nil:
		return l.takeBody(tag, at)
	case f.Type == bodyType && !in.secret && f.IsExported():
		return errors.New("a Body is embedded in the kind itself, and comes first: it is where the entity is. A place besides is two floats")
	case f.Name == "_" && f.Type.Size() == 0:
		return l.takeOptions(tag, in)
	case embedded && !in.secret:
		at.name, at.root = in.name, in.root
	case !f.IsExported() || in.secret:
		if l.hidden == nil {
			return errors.New("not exported, and all that an action has travels: begin its name with a capital letter, or leave it out")
		}
		at.secret = true
	}
	if n := l.count(f.Type); n.fields+n.hidden == 0 {
		return nil // such as an array of no elements, or of any number of empty structs
	}
	was := l.attr
	if tag.attr >= 0 {
		l.attr = tag.attr
		tag.attr = -1
		defer func() { l.attr = was }()
	}
	return l.takeValue(f.Type, tag, at)
}

// takeBody adds the fields of the kind's Body.
func (l *layout) takeBody(tag tag, at place) error {
	k := l.kind
	if len(k.Fields) > 0 {
		return errors.New("a Body comes first")
	}
	k.HasBody, k.body = true, at.offset
	for i := range bodyType.NumField() {
		f := bodyType.Field(i)
		// These types are all good.
		field := Field{Name: snake(f.Name), Type: typeOf(f.Type), Wire: typeOf(f.Type), Max: maxTextBytes, InBody: f.IsExported(), offset: at.offset + f.Offset}
		if f.IsExported() {
			k.Fields = append(k.Fields, field)
		} else {
			k.hidden = append(k.hidden, field)
		}
	}
	return k.takeOptions(tag)
}

// takeOptions takes what a field _ struct{} says of the kind or of the action.
func (l *layout) takeOptions(tag tag, in place) error {
	switch {
	case !in.root:
		return nil
	case l.kind != nil:
		return l.kind.takeOptions(tag)
	}
	l.action.Number = tag.action
	return nil
}

// takeValue adds a value, or what it is made of.
func (l *layout) takeValue(t reflect.Type, tag tag, at place) error {
	typ := typeOf(t)
	switch {
	case typ != 0 && at.secret:
		*l.hidden = append(*l.hidden, Field{Name: at.name, Type: typ, Wire: typ, Max: maxTextBytes, offset: at.offset})
		return nil
	case typ != 0:
		return l.takeLeaf(typ, tag, at)
	case t.Kind() == reflect.Struct:
		if !at.secret && tag.forValue() {
			return errors.New("a struct takes name= and attr= alone: the rest stands at the fields in it")
		}
		return l.takeStruct(t, at)
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			if err := l.takeValue(t.Elem(), tag, at.element(i, t.Elem().Size())); err != nil {
				return err
			}
		}
		return nil
	}
	return &fieldError{fmt.Sprintf("%s.%s is %v: %s", at.of, at.path, t, advice(t))}
}

func (l *layout) takeLeaf(typ Type, tag tag, at place) error {
	field, err := newField(at, typ, tag)
	if err != nil {
		return err
	}
	if l.attr >= 0 {
		if l.attr >= noAttr {
			return fmt.Errorf("attr= leads beyond the greatest number, %d", noAttr-1)
		}
		field.Attr = uint16(l.attr)
		l.attr++
	}
	if len(field.Name) > maxFieldName {
		return fmt.Errorf("its name to clients has %d bytes, and %d is the limit: name= gives another name", len(field.Name), maxFieldName)
	}
	if slices.ContainsFunc(*l.fields, func(have Field) bool { return have.Name == field.Name }) {
		return fmt.Errorf("another field is %s to clients, of the Body perhaps: name= gives another name", field.Name)
	}
	*l.fields = append(*l.fields, field)
	return nil
}

// counted is how many values a type has: those that travel, and those that are state alone.
type counted struct{ fields, hidden int }

// count returns how many values a type has, so that a struct with too many is refused before there is a field for
// each.
func (l *layout) count(t reflect.Type) (n counted) {
	if n, ok := l.counts[t]; ok {
		return n
	}
	switch {
	case typeOf(t) != 0:
		return counted{fields: 1}
	case t.Kind() == reflect.Array:
		n = l.count(t.Elem())
		n = counted{times(n.fields, t.Len()), times(n.hidden, t.Len())}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			one := l.count(f.Type)
			if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
				one = counted{hidden: plus(one.fields, one.hidden)}
			}
			n = counted{plus(n.fields, one.fields), plus(n.hidden, one.hidden)}
		}
	default:
		return counted{fields: 1} // it is refused when the walk comes to it
	}
	if l.counts == nil {
		l.counts = map[reflect.Type]counted{}
	}
	l.counts[t] = n
	return n
}

// plus and times do not overflow: a struct may have any number of values, and is refused for it.
func plus(a, b int) int { return min(a, math.MaxInt32-min(b, math.MaxInt32)) + min(b, math.MaxInt32) }

func times(a, b int) int {
	if a != 0 && b > math.MaxInt32/a {
		return math.MaxInt32
	}
	return a * b
}

// newField makes a field of a value that stands alone or in an array.
func newField(at place, typ Type, tag tag) (Field, error) {
	field := Field{Name: at.name, Type: typ, Wire: typ, Attr: noAttr, offset: at.offset}
	if tag.kind >= 0 || tag.action >= 0 || tag.rows > 0 || tag.speed >= 0 {
		return field, errors.New("kind=, speed=, cap= and action= stand at the Body, or at a field `_ struct{}`")
	}
	if tag.turns != 0 || tag.norm != 0 {
		return field, errors.New("angle= and norm= stand at the Body")
	}
	if tag.countdown && (typ < U8 || typ > U64) {
		return field, errors.New("a countdown is an unsigned number")
	}
	field.Countdown = tag.countdown
	var err error
	switch {
	case tag.step != 0:
		err = field.quantise(&tag)
	case tag.low != "" || tag.high != "" && typ != Text:
		err = errors.New("min= and max= are the range of q=, or max= the size of a string")
	case typ == Text:
		field.Max = defaultTextBytes
		if tag.high != "" {
			if field.Max, err = number(tag.high, 1, maxTextBytes); err != nil {
				err = fmt.Errorf("tag %q: %w", "max="+tag.high, err)
			}
		}
	}
	return field, err
}
