package world

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// A Field is one replicated field of a kind, or one parameter of an action.
type Field struct {
	Name string // the way to it in lower_case, such as speed or slots[2].count; name= gives another name
	Type Type
	Max  int    // for Text: its greatest size in bytes
	Attr uint16 // the number of its realm attribute, of those of its kind; 0 for the fields of a Body

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

// Cap returns the greatest number of entities of the kind.
func (k *Kind) Cap() int { return k.rows }

// Hidden returns the number of values in unexported fields, those of a Body included. They are state, and told to no one.
func (k *Kind) Hidden() int { return len(k.hidden) }

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
// fields are replicated: they are bools, numbers of a fixed size, strings and IDs, and arrays and structs of
// these. Unexported fields are state as well, and told to no one. No field may hold a pointer, as state is copied
// each tick. If a struct is not valid, New returns an error.
//
// Arrays and nested structs are flattened: each value in them is a field of the kind, in their order, and is named by
// the way to it, such as slots[2].count. A kind has at most 64 fields. The fields of an embedded struct are those of
// the outer one, also if its type is not exported, unless the tag name= gives it a name.
//
// The tag `parley:"..."` of a field has these parts, separated by commas:
//
//	name=speed_left  its name to clients
//	attr=3           its number among the kind's attributes in realm; of an array or a struct, that of its
//	                 first value
//	max=64           the greatest size of a string in bytes (default 32)
//	q=1/256          a float is rounded to a whole number of these steps at the end of each step of the
//	                 world, and travels as that number, in the smallest integer type that holds the
//	                 range min=-128,max=127.99. Values out of the range are clamped to it
//	countdown        Step takes one from it each tick until it is 0; clients that count down
//	                 themselves are told only when it is set
//
// max=, q= and countdown of an array are those of each element.
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
// most 8 fields, once it is flattened, of the types that kinds may have, all exported. A field _ struct{} with the tag
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
		return nil, fmt.Errorf("world: kind %v: not a named struct: pass a struct's zero value, such as Ship{}", t)
	}
	return newKindOf(t, t.Name())
}

// newKindOf makes a kind of a struct that has a name, or is given one.
func newKindOf(t reflect.Type, name string) (*Kind, error) {
	k := &Kind{Name: snake(name), typ: t, MaxSpeed: 1, rows: defaultRows}
	l := layout{kind: k, fields: &k.Fields, hidden: &k.hidden, attr: -1}
	switch n := l.count(t); {
	case n.fields > maxFields:
		return nil, fmt.Errorf("world: kind %s: %d fields, and %d is the limit: each element of an array and each field of a nested struct is one", k.Name, n.fields, maxFields)
	case n.hidden > maxHidden:
		return nil, fmt.Errorf("world: kind %s: %d values in unexported fields, and %d is the limit", k.Name, n.hidden, maxHidden)
	}
	if err := l.takeStruct(t, place{of: name, root: true}); err != nil {
		return nil, fmt.Errorf("world: kind %s: %w", k.Name, err)
	}
	return k, k.check()
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
		return fmt.Errorf("world: kind %s: no field to replicate: embed world.Body, or give it an exported field", k.Name)
	case bytes > maxRecordBytes:
		return fmt.Errorf("world: kind %s: a record of up to %d bytes, and %d is the limit", k.Name, bytes, maxRecordBytes)
	}
	return nil
}

func newAction(t reflect.Type) (*Action, error) {
	if t == nil || t.Kind() != reflect.Struct || t.Name() == "" {
		return nil, fmt.Errorf("world: action %v: not a named struct: pass a struct's zero value, such as Fire{}", t)
	}
	return newActionOf(t, t.Name())
}

// newActionOf makes an action of a struct that has a name, or is given one.
func newActionOf(t reflect.Type, name string) (*Action, error) {
	a := &Action{Name: snake(name), Number: -1, typ: t}
	l := layout{action: a, fields: &a.Fields, attr: -1}
	if n := l.count(t); n.fields > MaxParams {
		return nil, fmt.Errorf("world: action %s: %d fields, and %d is the limit: each element of an array and each field of a nested struct is one", a.Name, n.fields, MaxParams)
	}
	if err := l.takeStruct(t, place{of: name, root: true}); err != nil {
		return nil, fmt.Errorf("world: action %s: %w", a.Name, err)
	}
	return a, nil
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
