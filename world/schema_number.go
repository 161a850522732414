package world

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Schema is the set of kinds and actions that a game has registered.
type Schema struct {
	Kinds   []*Kind
	Actions []*Action

	tables int // fields a kind at most, hidden ones included
	sum    uint64
}

// Fingerprint tells schemas apart: it is the same for the same kinds, actions and name of the game.
func (s *Schema) Fingerprint() uint64 { return s.sum }

// noAttr marks a field whose attribute is not numbered yet.
const noAttr = 1<<16 - 1

// Prepare returns the game with its schema made, which all worlds of it then share: those of a server's rooms. It returns an
// error if the kinds or actions are invalid. A game that was not prepared works too.
func (g Game) Prepare() (Game, error) {
	var err error
	g.schema, err = newSchema(&g)
	return g, err
}

// Schema returns the schema of the game. It returns an error if the kinds or actions are invalid.
func (g Game) Schema() (*Schema, error) { return newSchema(&g) }

func newSchema(g *Game) (*Schema, error) {
	if g.schema != nil {
		return g.schema, nil
	}
	if err := errors.Join(g.Kinds.err, g.Actions.err); err != nil {
		return nil, err
	}
	s := &Schema{}
	// The lists are the game's, and a game may run twice: each run has copies.
	for _, k := range g.Kinds.kinds {
		c := *k
		c.Fields = append([]Field(nil), k.Fields...)
		s.Kinds = append(s.Kinds, &c)
	}
	for _, a := range g.Actions.actions {
		c := *a
		s.Actions = append(s.Actions, &c)
	}
	if err := errors.Join(s.numberKinds(), s.numberActions(), s.numberAttributes()); err != nil {
		return nil, err
	}
	for i, k := range s.Kinds {
		k.index = i
		s.tables = max(s.tables, len(k.Fields)+len(k.hidden))
	}
	s.sum = s.fingerprint(g.Name)
	return s, nil
}

// numberKinds: "Kinds are numbered from 1 and actions from 0 in the order of
// registration, … unless a struct tag says otherwise" (design).
func (s *Schema) numberKinds() error {
	taken := map[int]string{}
	names := map[string]bool{}
	for _, k := range s.Kinds {
		if names[k.Name] {
			return fmt.Errorf("world: two kinds are named %s", k.Name)
		}
		names[k.Name] = true
		if k.Number != 0 && taken[k.Number] != "" {
			return fmt.Errorf("world: kinds %s and %s have the number %d", taken[k.Number], k.Name, k.Number)
		}
		if k.Number != 0 {
			taken[k.Number] = k.Name
		}
	}
	next := 1
	for _, k := range s.Kinds {
		for k.Number == 0 {
			if taken[next] == "" {
				k.Number = next
			}
			next++
		}
		if k.Number > maxKinds {
			return fmt.Errorf("world: kind %s: number %d, and %d is the limit", k.Name, k.Number, maxKinds)
		}
	}
	return nil
}

func (s *Schema) numberActions() error {
	taken := map[int]string{}
	names := map[string]bool{}
	for _, a := range s.Actions {
		if names[a.Name] {
			return fmt.Errorf("world: two actions are named %s", a.Name)
		}
		names[a.Name] = true
		if a.Number >= 0 && taken[a.Number] != "" {
			return fmt.Errorf("world: actions %s and %s have the number %d", taken[a.Number], a.Name, a.Number)
		}
		if a.Number >= 0 {
			taken[a.Number] = a.Name
		}
	}
	next := 0
	for _, a := range s.Actions {
		for a.Number < 0 {
			if taken[next] == "" {
				a.Number = next
			}
			next++
		}
		if a.Number >= maxActions {
			return fmt.Errorf("world: action %s: number %d is too large", a.Name, a.Number)
		}
	}
	return nil
}

// numberAttributes: "realm attributes from 0 in the order of fields, unless a
// struct tag says otherwise" (design). Each kind has numbers of its own, and the
// number of a field depends on those before it alone: a field that is added at
// the end of a struct leaves all others as they were.
func (s *Schema) numberAttributes() error {
	for _, k := range s.Kinds {
		taken, next := map[uint16]string{}, uint16(0)
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.InBody {
				continue
			}
			for f.Attr == noAttr {
				if _, ok := taken[next]; !ok {
					f.Attr = next
				}
				next++
			}
			if other, ok := taken[f.Attr]; ok {
				return fmt.Errorf("world: kind %s: fields %s and %s have the attribute %d: attr= gives another", k.Name, other, f.Name, f.Attr)
			}
			taken[f.Attr] = f.Name
		}
	}
	return nil
}

// Describe says what clients have to agree on to read the field: its type, and how it is quantised.
func (f *Field) Describe() string {
	if f.Step == 0 {
		return f.Type.String()
	}
	return fmt.Sprintf("%v in %v steps of %v from %d to %d", f.Type, f.Wire, f.Step, f.low, f.high)
}

// Range returns the least and the greatest number of steps of a field with the tag q=, and whether it is an angle: one that goes
// around.
func (f *Field) Range() (low, high int64, around bool) { return f.low, f.high, f.turn }

// fingerprint tells two games apart that a recording must not mix up.
func (s *Schema) fingerprint(name string) uint64 {
	h := hashText(1, name)
	for _, k := range s.Kinds {
		h = hashText(hash(h, uint64(k.Number)), k.Name)
		for _, f := range k.Fields {
			h = f.fingerprint(h)
		}
		for _, f := range k.hidden {
			f.Name = oldName(f.Name)
			h = f.fingerprint(h)
		}
	}
	for _, a := range s.Actions {
		h = hashText(hash(h, uint64(a.Number)), a.Name)
		for _, f := range a.Fields {
			h = f.fingerprint(h)
		}
	}
	return h
}

// oldName writes the name of an unexported value as logs of version 3 know it: path.2 for path[2].
func oldName(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "[", "."), "]", "") }

func (f *Field) fingerprint(h uint64) uint64 {
	h = hash(hash(hashText(h, f.Name), uint64(f.Type)), uint64(f.Max))
	if f.Step != 0 {
		h = hash(hash(hash(h, math.Float64bits(f.Step)), uint64(f.low)), uint64(f.high))
	}
	return h
}

// Kind returns the kind with a number, or nil.
func (s *Schema) Kind(number int) *Kind {
	for _, k := range s.Kinds {
		if k.Number == number {
			return k
		}
	}
	return nil
}

// Action returns the action with a number, or nil.
func (s *Schema) Action(number int) *Action {
	for _, a := range s.Actions {
		if a.Number == number {
			return a
		}
	}
	return nil
}

// ActionNamed returns the action with a name, or nil.
func (s *Schema) ActionNamed(name string) *Action {
	for _, a := range s.Actions {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// A tag is what a struct tag says; -1 and "" are nothing.
type tag struct {
	name               string
	attr, kind, action int
	rows, turns        int
	speed, step, norm  float64
	low, high          string // min= and max=: what they are depends on the type of the field
	countdown          bool
}

// nameOf returns the name of a field to clients.
func (t *tag) nameOf(name string) string {
	if t.name != "" {
		return t.name
	}
	return snake(name)
}

// forValue reports whether the tag says something that only a value can have.
func (t *tag) forValue() bool {
	return t.kind >= 0 || t.action >= 0 || t.rows > 0 || t.speed >= 0 || t.turns != 0 || t.norm != 0 || t.step != 0 || t.low != "" || t.high != "" || t.countdown
}

func parseTag(text string) (tag, error) {
	t := tag{attr: -1, kind: -1, action: -1, speed: -1}
	if text == "" {
		return t, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch key {
		case "name":
			t.name, err = value, checkName(value)
		case "attr":
			t.attr, err = number(value, 0, noAttr-1)
		case "kind":
			t.kind, err = number(value, 1, maxKinds)
		case "action":
			t.action, err = number(value, 0, maxActions-1)
		case "min", "max":
			if value == "" {
				err = errors.New("empty")
			}
			if key == "min" {
				t.low = value
			} else {
				t.high = value
			}
		case "q":
			t.step, err = parseStep(value)
		case "norm":
			t.norm, err = parseStep(value)
		case "angle":
			t.turns, err = number(value, 2, maxTurns)
		case "cap":
			t.rows, err = number(value, 1, maxRows)
		case "countdown":
			t.countdown = true
		case "speed":
			t.speed, err = strconv.ParseFloat(value, 64)
			if err != nil {
				err = errors.New("not a number")
			} else if !(t.speed >= 0 && t.speed <= maxSpeed) {
				err = fmt.Errorf("not from 0 to %d", maxSpeed)
			}
		default:
			err = errors.New("there is no such tag: go doc parley/world.Kinds lists them")
		}
		if err != nil {
			return t, fmt.Errorf("tag %q: %w", part, err)
		}
	}
	return t, nil
}

// checkName refuses a name that clients could not tell from the way to a field, or that a terminal would not show.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("empty")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("not UTF-8 that can be printed")
	case strings.ContainsAny(name, ".[]"):
		return errors.New("a point and brackets stand for structs and arrays")
	}
	return nil
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		err = errors.New("not a whole number")
	} else if n < low || n > high {
		err = fmt.Errorf("not from %d to %d", low, high)
	}
	return n, err
}
