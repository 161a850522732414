package schema

import (
	"fmt"
	"strconv"
	"strings"

	"parley/play/message"
	"parley/world"
)

// A Description is the schema of a game, with the numbers of each dialect. The names of its JSON are stable: programs may rely on
// them.
type Description struct {
	Game        string              `json:"game"`
	Version     string              `json:"version,omitempty"`
	Fingerprint string              `json:"fingerprint"` // the u64 of a world message, as 16 hex digits
	Kinds       []KindDescription   `json:"kinds"`
	Actions     []ActionDescription `json:"actions"`
}

// A KindDescription is a kind of entity.
type KindDescription struct {
	Name        string  `json:"name"`
	Number      int     `json:"number"`       // in stamp, relay and duplex
	ReplicaLink int     `json:"replica_link"` // in replica's link table
	RealmType   int     `json:"realm_type"`
	Body        bool    `json:"body"`                // it has a position
	MaxSpeed    float64 `json:"max_speed,omitempty"` // with a body: cells a tick
	Cap         int     `json:"cap"`                 // the greatest number of entities
	RecordBytes int     `json:"record_bytes"`        // the greatest size of all fields in stamp and relay
	Hidden      int     `json:"hidden"`              // values that are state and told to no one

	Fields []FieldDescription `json:"fields"`
}

// An ActionDescription is an action.
type ActionDescription struct {
	Name   string             `json:"name"` // also that of replica's message
	Number int                `json:"number"`
	Fields []FieldDescription `json:"fields"`
}

// A FieldDescription is a field of a kind, or a parameter of an action.
type FieldDescription struct {
	Name      string `json:"name"` // such as slots[2].count
	Path      []any  `json:"path"` // the same in parts: "slots", 2, "count". A name is a string, an index an int
	Type      string `json:"type"` // in the world
	Wire      string `json:"wire"` // what travels: another type if the field is quantised
	MaxBytes  int    `json:"max_bytes,omitempty"`
	Body      bool   `json:"body,omitempty"`
	Countdown bool   `json:"countdown,omitempty"`

	Quantum *QuantumDescription `json:"quantum,omitempty"`
	Replica *ReplicaDescription `json:"replica,omitempty"` // of a kind's field
	Realm   *RealmDescription   `json:"realm,omitempty"`   // of a kind's field that is not the body's
}

// A QuantumDescription says how a float travels: as a whole number of steps.
type QuantumDescription struct {
	Step   float64 `json:"step"`
	Low    int64   `json:"low"` // the least number of steps
	High   int64   `json:"high"`
	Around bool    `json:"around,omitempty"` // an angle, which goes around
}

// A ReplicaDescription is the variable in replica that has a field.
type ReplicaDescription struct {
	Variable int    `json:"variable"` // its link
	Name     string `json:"name"`     // "x,y" if both share it
	Type     string `json:"type"`
}

// A RealmDescription is the attribute in realm that is a field.
type RealmDescription struct {
	Attribute int    `json:"attribute"`
	Type      string `json:"type"`
	NeedsType bool   `json:"needs_type,omitempty"` // a block that has it has the entity's type too
}

// Describe returns the schema of a game. firstType is the number of the kind that is type 0 in realm; with 0, types are the numbers of
// kinds.
func Describe(g world.Game, firstType int) (*Description, error) {
	s, err := g.Schema()
	if err != nil {
		return nil, err
	}
	d := &Description{Game: g.Name, Version: g.Version, Fingerprint: fmt.Sprintf("%016x", s.Fingerprint()), Kinds: []KindDescription{}, Actions: []ActionDescription{}}
	typed := RealmTyped(s)
	for _, k := range s.Kinds {
		d.Kinds = append(d.Kinds, describeKind(k, firstType, typed[k.Index()]))
	}
	for _, a := range s.Actions {
		one := ActionDescription{Name: a.Name, Number: a.Number, Fields: []FieldDescription{}}
		for i := range a.Fields {
			one.Fields = append(one.Fields, describeField(&a.Fields[i]))
		}
		d.Actions = append(d.Actions, one)
	}
	return d, nil
}

func describeKind(k *world.Kind, firstType int, typed uint64) KindDescription {
	d := KindDescription{Name: k.Name, Number: k.Number, ReplicaLink: k.Index(), RealmType: k.Number - firstType, Body: k.HasBody, Cap: k.Cap(), Hidden: k.Hidden()}
	if k.HasBody {
		d.MaxSpeed = k.MaxSpeed
	}
	variables := Replica(k)
	for i := range k.Fields {
		f := &k.Fields[i]
		one := describeField(f)
		at, _ := message.VariableOf(k, i)
		one.Replica = &ReplicaDescription{at, variables[at].Name, variables[at].Type.String()}
		if !f.InBody {
			one.Realm = &RealmDescription{int(f.Attr), realmTypes[f.Wire].String(), typed>>i&1 != 0}
		}
		d.RecordBytes += f.Wire.Bytes() + one.MaxBytes
		d.Fields = append(d.Fields, one)
	}
	return d
}

func describeField(f *world.Field) FieldDescription {
	d := FieldDescription{Name: f.Name, Path: Path(f.Name), Type: f.Type.String(), Wire: f.Wire.String(), Body: f.InBody, Countdown: f.Countdown}
	if f.Type == world.Text {
		d.MaxBytes = f.Max
	}
	if f.Step != 0 {
		low, high, around := f.Range()
		d.Quantum = &QuantumDescription{f.Step, low, high, around}
	}
	return d
}

// Path returns the parts of a field's name: slots[2].count is "slots", 2, "count". A generator of types makes arrays and structs of them
// again.
func Path(name string) (path []any) {
	for part := range strings.SplitSeq(name, ".") {
		part, indexes, _ := strings.Cut(part, "[")
		path = append(path, part)
		if indexes == "" {
			continue
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(indexes, "]"), "][") {
			if n, err := strconv.Atoi(index); err == nil {
				path = append(path, n)
			}
		}
	}
	return path
}
