package world

import (
	"fmt"
	"iter"
	"reflect"
)

// Spawn creates an entity of kind T that nobody owns, and returns its ID. It returns 0 if
// the kind has reached its greatest number of entities.
func Spawn[T any](w *World, v T) ID {
	if w.born >= 1<<16-1 {
		return 0
	}
	w.born++
	return spawn(w, makeID(w.tick, 0, uint16(w.born)), 0, v)
}

// SpawnFor creates an entity of kind T for the player of an input, who then owns it. Its
// ID is the same in every replay of that input. If the client gave the new entity a
// temporary number, as clients of realm do, it is told the true one.
func SpawnFor[T any](w *World, in *Input, v T) ID {
	if in.born >= maxBirths {
		return 0
	}
	in.born++
	id := spawn(w, makeID(w.tick, in.Player, uint16(in.order)<<11|in.born), in.Player, v)
	if in.child == 0 {
		in.child = id
	}
	return id
}

func spawn[T any](w *World, id ID, owner PlayerID, v T) ID {
	t := tableOf[T](w)
	if t == nil {
		panic(notAKind(reflect.TypeFor[T]()))
	}
	// The tick in an ID is 32 bits: after years at 20 a second it may meet an
	// entity that has lived since.
	for _, taken := w.where.get(id); taken; _, taken = w.where.get(id) {
		id++
	}
	row := t.take(id, owner)
	if row < 0 {
		w.stats.SpawnsRefused++
		return 0
	}
	*(*T)(t.at(row)) = v
	if t.kind.HasBody {
		t.body(row).settleAt(w.tick)
	}
	w.where.put(id, uint32(t.kind.index)<<16|uint32(row))
	return id
}

// notAKind says what to do about a Spawn of a type that the game does not know.
func notAKind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return fmt.Sprintf("world: spawn of %v, a pointer: spawn the struct itself", t)
	}
	return fmt.Sprintf("world: spawn of %v, which is no kind of this game: add %s{} to Game.Kinds", t, t.Name())
}

// tableOf finds the table of a kind by its type.
func tableOf[T any](w *World) *table {
	for _, t := range w.tables {
		if _, ok := t.like.(*T); ok {
			return t
		}
	}
	return nil
}

// Get returns the entity of kind T, or nil if it does not exist or is of another kind.
// The pointer is valid until the entity is despawned or Step returns.
func Get[T any](w *World, id ID) *T {
	at, ok := w.where.get(id)
	if !ok {
		return nil
	}
	t := w.tables[at>>16]
	if _, ok := t.like.(*T); !ok {
		return nil
	}
	return (*T)(t.at(int(at & 0xffff)))
}

// All iterates over the entities of kind T in the order of their rows, which is the same
// in every run. The loop may spawn and despawn entities. An entity that is spawned in the
// loop may or may not be visited.
func All[T any](w *World) iter.Seq2[ID, *T] {
	t := tableOf[T](w)
	return func(yield func(ID, *T) bool) {
		if t == nil {
			return
		}
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			if !yield(t.ids[row], (*T)(t.at(row))) {
				return
			}
		}
	}
}

// Entities iterates over all entities with their kinds, in the order of the kinds and of their rows.
func (w *World) Entities() iter.Seq2[ID, *Kind] {
	return func(yield func(ID, *Kind) bool) {
		for _, t := range w.tables {
			for row := t.next(0); row >= 0; row = t.next(row + 1) {
				if !yield(t.ids[row], t.kind) {
					return
				}
			}
		}
	}
}

// Value returns the field of an entity with an index in Kind.Fields, for a program that does not know the game's types. An Entity is an
// ID. It is false if there is no such entity or field.
func (w *World) Value(id ID, field int) (Value, bool) {
	at, ok := w.where.get(id)
	if !ok {
		return Value{}, false
	}
	t := w.tables[at>>16]
	if field < 0 || field >= len(t.kind.Fields) {
		return Value{}, false
	}
	return t.kind.Fields[field].value(t.at(int(at & 0xffff))), true
}

// Count returns the number of entities of kind T.
func Count[T any](w *World) int {
	t := tableOf[T](w)
	if t == nil {
		return 0
	}
	return t.count
}

// Exists reports whether an entity exists.
func (w *World) Exists(id ID) bool {
	_, ok := w.where.get(id)
	return ok
}

// Despawn removes an entity, if it exists. Its ID is never used again.
func (w *World) Despawn(id ID) {
	at, ok := w.where.get(id)
	if !ok {
		return
	}
	w.where.remove(id)
	w.tables[at>>16].release(int(at & 0xffff))
}

// KindOf returns the kind of an entity, or nil.
func (w *World) KindOf(id ID) *Kind {
	if at, ok := w.where.get(id); ok {
		return w.tables[at>>16].kind
	}
	return nil
}

// Body returns the body of an entity of any kind, or nil.
func (w *World) Body(id ID) *Body {
	at, ok := w.where.get(id)
	if !ok || !w.tables[at>>16].kind.HasBody {
		return nil
	}
	return w.tables[at>>16].body(int(at & 0xffff))
}

// Owner returns the player who owns an entity, or 0.
func (w *World) Owner(id ID) PlayerID {
	if at, ok := w.where.get(id); ok {
		return w.tables[at>>16].owners[at&0xffff]
	}
	return 0
}

// SetOwner gives an entity to a player. With 0, nobody owns it.
func (w *World) SetOwner(id ID, p PlayerID) {
	if at, ok := w.where.get(id); ok {
		w.tables[at>>16].owners[at&0xffff] = p
	}
}

// despawnOwned removes all that a player owns.
func (w *World) despawnOwned(p PlayerID) {
	for _, t := range w.tables {
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			if t.owners[row] == p {
				w.Despawn(t.ids[row])
			}
		}
	}
}
