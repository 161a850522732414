package core

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Store holds the values that a server replicates: variables of the game, which belong to no entity,
// and entities, whose kind declares their variables. All connections of a Mux read the same Store. It is
// owned by the goroutine that calls the Mux.
type Store struct {
	items     []item // in order of registration: what link tables are cut from
	variables []variable
	kinds     []kind
	version   uint64 // of the newest change of any value
	entities  uint64 // how many were ever made
	removed   uint64 // how many of them were removed
	key       uint64 // makes place unguessable
	cargos    cargos
	batches   batches
}

// item is one line of a link table: a variable of the game, or one of a kind.
type item struct {
	kind     int32 // -1 for a variable of the game
	variable int32
}

type variable struct {
	name    string
	typ     DataType
	data    []byte
	version uint64 // of its newest change; 0 while it was never set
	item    int
}

type kind struct {
	name      string
	variables []Variable
	firstItem int
	spare     *slot // that no view uses
	spares    int
}

// Variable is the name and type of a variable.
type Variable struct {
	Name string
	Type DataType
}

// Entity is an entity of a kind. All clients that see it share its values.
type Entity struct {
	// Tag is the application's: replica does not use it.
	Tag uint64

	store    *Store
	number   uint64
	kind     uint16
	data     [][]byte
	versions []uint64
	version  uint64 // of the newest of them
	removed  bool
}

// ErrSchema means that a kind or variable cannot be declared.
var ErrSchema = errors.New("replica: cannot declare")

// ErrValue means that a value does not fit its variable.
var ErrValue = errors.New("replica: value does not fit")

const (
	maxKinds         = 1 << 15
	maxKindVariables = 255 // their links have one byte
)

// AddVariable declares a variable of the game and returns its link. Clients that are already linked
// get it in a further table.
func (s *Store) AddVariable(name string, t DataType) (uint16, error) {
	if err := checkVariable(Variable{name, t}); err != nil {
		return 0, err
	}
	if len(s.variables) >= maxKinds {
		return 0, fmt.Errorf("%w: variable %q: there are %d already", ErrSchema, name, len(s.variables))
	}
	link := len(s.variables)
	s.variables = append(s.variables, variable{name: name, typ: t, item: len(s.items)})
	s.items = append(s.items, item{-1, int32(link)})
	return uint16(link), nil
}

// SentBytes returns how many bytes of a variable of a kind were sent to all connections, without headers. A packet is counted late:
// when each connection that it went to has acknowledged or lost it, and newer packets have been written.
func (s *Store) SentBytes(kind uint16, variable int) uint64 { return s.cargos.sent[kind][variable] }

// AddKind declares a kind of entities and returns its link: "A kind without
// variables is refused at registration."
func (s *Store) AddKind(name string, variables ...Variable) (uint16, error) {
	switch {
	case !goodName(name):
		return 0, fmt.Errorf("%w: kind %q: its name is empty, too long or not UTF-8", ErrSchema, name)
	case len(variables) == 0 || len(variables) > maxKindVariables:
		return 0, fmt.Errorf("%w: kind %q: it has %d variables, want 1 to %d", ErrSchema, name, len(variables), maxKindVariables)
	case len(s.kinds) >= maxKinds:
		return 0, fmt.Errorf("%w: kind %q: there are %d already", ErrSchema, name, len(s.kinds))
	}
	for _, v := range variables {
		if err := checkVariable(v); err != nil {
			return 0, fmt.Errorf("kind %q: %w", name, err)
		}
	}
	link := len(s.kinds)
	s.kinds = append(s.kinds, kind{name: name, variables: variables, firstItem: len(s.items)})
	for i := range variables {
		s.items = append(s.items, item{int32(link), int32(i)})
	}
	s.cargos.sent = append(s.cargos.sent, make([]uint64, len(variables)))
	return uint16(link), nil
}

func goodName(name string) bool {
	return name != "" && len(name) <= MaxNameBytes && utf8.ValidString(name)
}

func checkVariable(v Variable) error {
	if !goodName(v.Name) || v.Type > DataChars {
		return fmt.Errorf("%w: variable %q of %v: its name is empty, too long or not UTF-8, or its type unknown", ErrSchema, v.Name, v.Type)
	}
	return nil
}

// Set sets a variable of the game. data is the value, encoded as its type.
func (s *Store) Set(link uint16, data []byte) error {
	if int(link) >= len(s.variables) {
		return fmt.Errorf("%w: no variable has link %d", ErrValue, link)
	}
	v := &s.variables[link]
	if !v.typ.accepts(data) {
		return fmt.Errorf("%w: %s is %v, got %x", ErrValue, v.name, v.typ, data)
	}
	if v.version != 0 && string(v.data) == string(data) {
		return nil
	}
	s.version++
	v.version = s.version
	v.data = append(v.data[:0], data...)
	return nil
}

// NewEntity makes an entity of the kind with this link. No client sees it before Conn.Show.
func (s *Store) NewEntity(link uint16) (*Entity, error) {
	if int(link) >= len(s.kinds) {
		return nil, fmt.Errorf("%w: no kind has link %d", ErrValue, link)
	}
	n := len(s.kinds[link].variables)
	s.entities++
	return &Entity{store: s, number: s.entities, kind: link, data: make([][]byte, n), versions: make([]uint64, n)}, nil
}

// Kind returns the link of the entity's kind.
func (e *Entity) Kind() uint16 { return e.kind }

// Set sets a variable of the entity. variable is its index in AddKind. data is the value, encoded as its
// type.
func (e *Entity) Set(variable int, data []byte) error {
	k := &e.store.kinds[e.kind]
	if variable < 0 || variable >= len(k.variables) {
		return fmt.Errorf("%w: kind %s has no variable %d", ErrValue, k.name, variable)
	}
	if v := k.variables[variable]; !v.Type.accepts(data) {
		return fmt.Errorf("%w: %s.%s is %v, got %x", ErrValue, k.name, v.Name, v.Type, data)
	}
	if e.versions[variable] != 0 && string(e.data[variable]) == string(data) {
		return nil
	}
	e.store.version++
	e.version = e.store.version
	e.versions[variable] = e.version
	e.data[variable] = append(e.data[variable][:0], data...)
	return nil
}

// Remove removes the entity: it leaves every view with the next Replicate.
func (e *Entity) Remove() {
	if !e.removed {
		e.removed = true
		e.store.removed++
	}
}

// place is a number for an entity in a slot, of which the sum over a view says which entities are
// where: two views with the same sum are taken for alike. It is keyed, so that nobody who can choose
// what players see can make two sums meet that are not the same.
func (s *Store) place(at *slot) uint64 {
	x := (at.entity.number<<8 | uint64(at.id)) + s.key
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
