package world

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A Field is one replicated field of a kind, or one parameter of an action.
type Field struct {
	Name string // the Go name in lower_case, or the name in the tag name=
	Type Type
	Max  int    // for Text: its greatest size in bytes
	Attr uint16 // the number of its realm attribute; 0 for the fields of a Body

	// Wire is the type that travels: Type, or with the tag q= the smallest integer type that holds the range in
	// steps. In realm the fields of a Body travel as that document has them, whatever their tag.
	Wire Type

	// Step is the tag q=, and 0 without it. The value is a whole number of steps, which is the number that
	// travels: see Encode.
	Step float64

	InBody bool // one of the five fields of a Body

	// Countdown means that the value goes down by one each tick until it is 0. Clients may count down
	// themselves.
	Countdown bool

	low, high int64 // the least and the greatest number of steps
	turn      bool  // an angle: what is beyond them goes around

	offset uintptr
}

// A Kind is a registered kind of entity.
type Kind struct {
	Name   string  // the struct's name in lower_case
	Number int     // from 1 in the order of registration, or the tag kind=
	Fields []Field // the replicated fields; the first five are the Body's, if the kind has one

	// HasBody means that the kind has a position in the world. Entities without a position are in sight
	// of every player.
	HasBody bool

	// MaxSpeed is the greatest norm that a client may ask for, in cells a tick.
	MaxSpeed float64

	hidden []Field // unexported state: copied, hashed and recorded, told to no one
	floats []Field // of both: what must be finite
	rounds []Field // of Fields, without the Body's: what is rounded
	placed bool    // x and y of the Body are rounded
	angled bool    // its angle or norm is
	texts  []int   // indexes into Fields
	counts uint64  // a bit for each of Fields that is a countdown
	body   uintptr // offset of the Body
	typ    reflect.Type
	rows   int
	index  int
}

// Index returns the place of the kind in Schema.Kinds.
func (k *Kind) Index() int { return k.index }

// The indexes of a Body's fields in Kind.Fields.
const (
	FieldX = iota
	FieldY
	FieldAngle
	FieldNorm
	FieldSprite
	bodyFields
)

// An Action is a registered action.
type Action struct {
	Name   string // the struct's name in lower_case
	Number int    // from 0 in the order of registration, or the tag action=
	Fields []Field

	typ reflect.Type
}

// A KindList is a list of kinds for Game.Kinds. Kinds makes it.
type KindList struct {
	kinds []*Kind
	err   error
}

// An ActionList is a list of actions for Game.Actions. Actions makes it.
type ActionList struct {
	actions []*Action
	err     error
}

// Kinds registers structs as kinds of entities. Its arguments are zero values, such as Ship{}. Exported
// fields are replicated: they are bools, numbers, strings and IDs. Unexported fields are state as well,
// and may also be arrays and structs of these. No field may hold a pointer, as state is copied each
// tick. If a struct is not valid, New returns an error.
//
// The tag `parley:"..."` of a field has these parts, separated by commas:
//
//	name=speed_left  its name to clients
//	attr=3           its number among realm's attributes
//	max=64           the greatest size of a string in bytes (default 32)
//	q=1/256          a float is rounded to a whole number of these steps at the end of each step of the
//	                 world, and travels as that number, in the smallest integer type that holds the
//	                 range min=-128,max=127.99. Values out of the range are clamped to it
//	countdown        it goes down by one each tick until it is 0; clients that count down
//	                 themselves are told only when it is set
//
// On an embedded Body, or on a field _ struct{}, the tag is for the kind:
//
//	kind=7           its number
//	speed=0.5        the greatest norm that a client may ask for (default 1)
//	cap=1024         the greatest number of entities (default 4,096)
//
// and on an embedded Body also:
//
//	q=1/256          x and y are rounded and travel as q= says, with min= and max=
//	angle=256        the angle is one of so many directions, from -Pi to below Pi
//	norm=1/64        the norm is rounded to steps, within the greatest speed of all, 256
func Kinds(zero ...any) KindList {
	kinds, err := register(zero, newKind)
	return KindList{kinds, err}
}

// Scaled returns the same kinds with their greatest speeds multiplied by factor. It is for a game
// whose speeds in cells a second stay the same at another tick rate.
func (l KindList) Scaled(factor float64) KindList {
	scaled := KindList{err: l.err}
	for _, k := range l.kinds {
		c := *k
		c.MaxSpeed = min(float64(k.MaxSpeed*factor), maxSpeed)
		scaled.kinds = append(scaled.kinds, &c)
	}
	return scaled
}

// Actions registers structs as actions. Its arguments are zero values, such as Fire{}. An action has at
// most 8 fields, of the types that kinds may have, all exported. A field _ struct{} with the tag
// `parley:"action=9"` sets the number of the action.
func Actions(zero ...any) ActionList {
	actions, err := register(zero, newAction)
	return ActionList{actions, err}
}

// register makes a kind or an action of each struct, and returns the errors of those that are none.
func register[T any](zero []any, of func(reflect.Type) (T, error)) (list []T, errs error) {
	for _, z := range zero {
		v, err := of(reflect.TypeOf(z))
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		list = append(list, v)
	}
	return list, errs
}

var (
	bodyType = reflect.TypeFor[Body]()
	idType   = reflect.TypeFor[ID]()
)

func newKind(t reflect.Type) (*Kind, error) {
	if t == nil || t.Kind() != reflect.Struct || t.Name() == "" {
		return nil, fmt.Errorf("world: kind %v: not a named struct", t)
	}
	k := &Kind{Name: snake(t.Name()), typ: t, MaxSpeed: 1, rows: defaultRows}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, err := parseTag(f.Tag.Get("parley"))
		if err == nil {
			err = k.addField(f, tag)
		}
		if err != nil {
			return nil, fmt.Errorf("world: kind %s: field %s: %w", k.Name, f.Name, err)
		}
	}
	return k, k.check()
}

func (k *Kind) addField(f reflect.StructField, tag tag) error {
	switch {
	case f.Type == bodyType && f.Anonymous:
		if len(k.Fields) > 0 {
			return errors.New("a Body comes first")
		}
		k.HasBody, k.body = true, f.Offset
		for i := range bodyType.NumField() {
			b := bodyType.Field(i)
			b.Offset += f.Offset
			k.flatten(b, b.Type, b.Offset, b.IsExported())
		}
		for i := range k.Fields {
			k.Fields[i].InBody = true
		}
		return k.takeOptions(tag)
	case f.Name == "_" && f.Type.Size() == 0:
		return k.takeOptions(tag)
	case f.Anonymous:
		return errors.New("only a Body is embedded")
	case !f.IsExported():
		return k.flatten(f, f.Type, f.Offset, false)
	}
	typ := typeOf(f.Type)
	if typ == 0 {
		return fmt.Errorf("%v is none of the types that can be replicated: bool, int8 to int64, uint8 to uint64, float32, float64, string, world.ID", f.Type)
	}
	field, err := newField(f, typ, tag)
	if slices.ContainsFunc(k.Fields, func(have Field) bool { return have.Name == field.Name }) {
		return fmt.Errorf("another field is %s to clients, of the Body perhaps: name= gives another name", field.Name)
	}
	k.Fields = append(k.Fields, field)
	return err
}

// flatten adds a field to the tables, element by element.
func (k *Kind) flatten(f reflect.StructField, t reflect.Type, offset uintptr, visible bool) error {
	typ := typeOf(t)
	switch {
	case typ != 0:
		field := Field{Name: snake(f.Name), Type: typ, Wire: typ, Max: maxTextBytes, offset: offset}
		if visible {
			k.Fields = append(k.Fields, field)
		} else {
			k.hidden = append(k.hidden, field)
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			inner := t.Field(i)
			inner.Name = f.Name + "." + inner.Name
			if err := k.flatten(inner, inner.Type, offset+inner.Offset, visible); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			if len(k.hidden) > maxHidden {
				break
			}
			inner := f
			inner.Name = fmt.Sprintf("%s.%d", f.Name, i)
			if err := k.flatten(inner, t.Elem(), offset+uintptr(i)*t.Elem().Size(), visible); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%v points somewhere or has no fixed size, so it cannot be state", t)
	}
	return nil
}

func (k *Kind) takeOptions(tag tag) error {
	if tag.kind >= 0 {
		k.Number = tag.kind
	}
	if tag.speed >= 0 {
		k.MaxSpeed = tag.speed
	}
	if tag.rows > 0 {
		k.rows = tag.rows
	}
	if k.MaxSpeed > maxSpeed {
		return fmt.Errorf("speed=%v, and %d is the limit", k.MaxSpeed, maxSpeed)
	}
	if k.rows > maxRows {
		return fmt.Errorf("cap=%d, and %d is the limit", k.rows, maxRows)
	}
	return k.takeQuants(&tag)
}

// check refuses a kind that some dialect could not tell of.
func (k *Kind) check() error {
	bytes := 0
	for i, f := range k.Fields {
		if i < maxFields && f.Countdown {
			k.counts |= 1 << i
		}
		bytes += f.Wire.Bytes()
		if f.Type == Text {
			bytes += f.Max
			k.texts = append(k.texts, i)
		}
		if f.Step != 0 && !f.InBody {
			k.rounds = append(k.rounds, f)
		}
	}
	for _, f := range append(k.Fields[:len(k.Fields):len(k.Fields)], k.hidden...) {
		if f.Type == F32 || f.Type == F64 {
			k.floats = append(k.floats, f)
		}
	}
	switch {
	case len(k.Fields) == 0:
		return fmt.Errorf("world: kind %s: no field to replicate", k.Name)
	case len(k.Fields) > maxFields:
		return fmt.Errorf("world: kind %s: %d fields, and %d is the limit", k.Name, len(k.Fields), maxFields)
	case len(k.hidden) > maxHidden:
		return fmt.Errorf("world: kind %s: %d or more values in unexported fields, and %d is the limit", k.Name, len(k.hidden), maxHidden)
	case bytes > maxRecordBytes:
		return fmt.Errorf("world: kind %s: a record of up to %d bytes, and %d is the limit", k.Name, bytes, maxRecordBytes)
	}
	return nil
}

func newAction(t reflect.Type) (*Action, error) {
	if t == nil || t.Kind() != reflect.Struct || t.Name() == "" {
		return nil, fmt.Errorf("world: action %v: not a named struct", t)
	}
	a := &Action{Name: snake(t.Name()), Number: -1, typ: t}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, err := parseTag(f.Tag.Get("parley"))
		var field Field
		switch typ := typeOf(f.Type); {
		case err != nil:
		case f.Name == "_" && f.Type.Size() == 0:
			a.Number = tag.action
			continue
		case typ == 0 || !f.IsExported() || f.Anonymous:
			err = fmt.Errorf("%v is none of the types that an action can carry (bool, int8 to int64, uint8 to uint64, float32, float64, string, world.ID), or not exported", f.Type)
		default:
			field, err = newField(f, typ, tag)
		}
		if err != nil {
			return nil, fmt.Errorf("world: action %s: field %s: %w", a.Name, f.Name, err)
		}
		a.Fields = append(a.Fields, field)
	}
	if len(a.Fields) > MaxParams {
		return nil, fmt.Errorf("world: action %s: %d fields, and %d is the limit", a.Name, len(a.Fields), MaxParams)
	}
	return a, nil
}

func newField(f reflect.StructField, typ Type, tag tag) (Field, error) {
	field := Field{Name: snake(f.Name), Type: typ, Wire: typ, Attr: noAttr, offset: f.Offset}
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
	if tag.name != "" {
		field.Name = tag.name
	}
	if tag.attr >= 0 {
		field.Attr = uint16(tag.attr)
	}
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

// typeOf returns the type of a Go type, or 0.
func typeOf(t reflect.Type) Type {
	if t == idType {
		return Entity
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool
	case reflect.Uint8:
		return U8
	case reflect.Uint16:
		return U16
	case reflect.Uint32:
		return U32
	case reflect.Uint64:
		return U64
	case reflect.Int8:
		return I8
	case reflect.Int16:
		return I16
	case reflect.Int32:
		return I32
	case reflect.Int64:
		return I64
	case reflect.Float32:
		return F32
	case reflect.Float64:
		return F64
	case reflect.String:
		return Text
	}
	return 0
}

// snake writes a Go name as others do: TicksLeft is ticks_left.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]) && letters[i-1] != '.') {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
