package world

import (
	"fmt"
	"reflect"
	"unsafe"
)

// The tests of random structs stand outside the package, as they also use what imports it. Types that reflect.StructOf makes have no
// name and are nobody's type parameter, so these do what Kinds, Actions, Spawn and Done do.

// KindsOf registers structs as the kinds k0, k1 and so on.
func KindsOf(types ...reflect.Type) KindList {
	var list KindList
	for i, t := range types {
		k, err := newKindOf(t, fmt.Sprintf("k%d", i))
		if err != nil {
			return KindList{err: err}
		}
		list.kinds = append(list.kinds, k)
	}
	return list
}

// ActionsOf registers structs as the actions a0, a1 and so on.
func ActionsOf(types ...reflect.Type) ActionList {
	var list ActionList
	for i, t := range types {
		a, err := newActionOf(t, fmt.Sprintf("a%d", i))
		if err != nil {
			return ActionList{err: err}
		}
		list.actions = append(list.actions, a)
	}
	return list
}

// A Row is an entity of a kind whose type has no name.
type Row struct {
	ID   ID
	Kind *Kind
	at   unsafe.Pointer
}

// SpawnOf creates an entity of a kind, all zero.
func SpawnOf(w *World, kind int) Row {
	t := w.tables[kind]
	w.born++
	id := makeID(w.tick, 0, uint16(w.born))
	row := t.take(id, 0)
	reflect.NewAt(t.kind.typ, t.at(row)).Elem().SetZero()
	w.where.put(id, uint32(kind)<<16|uint32(row))
	return Row{id, t.kind, t.at(row)}
}

// RowsOf returns all entities in the order of their tables.
func RowsOf(w *World) (list []Row) {
	for _, t := range w.tables {
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			list = append(list, Row{t.ids[row], t.kind, t.at(row)})
		}
	}
	return list
}

// Fields returns the fields of the row's kind, and those that are hidden.
func (r Row) Fields() (visible, hidden []Field) { return r.Kind.Fields, r.Kind.hidden }

// Get and Set read and write a field of the row.
func (r Row) Get(f *Field) Value    { return f.value(r.at) }
func (r Row) Set(f *Field, v Value) { f.setValue(r.at, v) }

// Struct returns the struct itself.
func (r Row) Struct() reflect.Value { return reflect.NewAt(r.Kind.typ, r.at).Elem() }

// Accept has an action done as it was asked for.
func Accept(in *Input) { in.outcome = Accepted }

// Rounds is rounds.
func Rounds(pr, soak int) int { return rounds(pr, soak) }
