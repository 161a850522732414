package picture

import (
	"slices"

	"parley/world"
)

// told is the newest that the server has told of an entity. Step of the reader's Guess knows less than the server's, so what it writes may be
// wrong: who leads, who was hit, what was picked up. The server tells only what changes on its side, and would never mend it.
type told struct {
	kind   *world.Kind
	values []world.Value // zero if not told
}

// notes keeps what was told of an entity.
func (r *Realm) notes(wire uint16, k *world.Kind, values []world.Value) {
	t := r.told[wire]
	if t == nil || t.kind != k {
		t = &told{k, make([]world.Value, len(k.Fields))}
		r.told[wire] = t
	}
	for i, v := range values {
		if v.Type != 0 {
			t.values[i] = v
		}
	}
}

// moves reports whether a client of realm has to compute a field itself between what is told: motion and countdowns.
func moves(f *world.Field, i int) bool { return f.InBody && i != world.FieldSprite || f.Countdown }

// hold makes all entities what was told of them, but for what moves, after Step has run on them. What Step has removed is there again, until the
// server says that it is gone, and what Step has made is not: the server tells of it.
func (r *Realm) hold() {
	w := r.sim.World()
	seen, made := 0, r.made[:0]
	for id, k := range w.Entities() {
		wire, ok := r.sim.Wire(id)
		t := r.told[wire]
		if !ok || t == nil {
			made = append(made, id)
			continue
		}
		seen++
		r.values = append(r.values[:0], t.values...)
		for i := range k.Fields {
			if moves(&k.Fields[i], i) {
				t.values[i], _ = w.Value(id, i)
				r.values[i] = world.Value{}
			}
		}
		r.sim.Put(wire, t.kind, r.values)
	}
	for _, id := range made {
		w.Despawn(id)
	}
	r.made = made
	if seen == len(r.told) {
		return
	}
	missing := r.missing[:0]
	for wire := range r.told {
		if !w.Exists(r.sim.ID(wire)) {
			missing = append(missing, wire)
		}
	}
	slices.Sort(missing)
	for _, wire := range missing {
		r.sim.Put(wire, r.told[wire].kind, r.told[wire].values)
	}
	r.missing = missing
}
