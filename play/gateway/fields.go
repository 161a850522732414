package gateway

import "parley/world"

// FieldBytes are the bytes of each kind's fields that players were sent over one dialect. The zero value has none.
type FieldBytes struct{ rows []fieldRow }

type fieldRow struct {
	kind, field string
	bytes       uint64
}

// Each yields the bytes of each field, with the names of its kind and of the field. Fields beyond the first maxFieldRows of the
// schema share one row, whose name no kind can have.
func (f FieldBytes) Each(yield func(n uint64, labels ...string)) {
	for _, row := range f.rows[:min(len(f.rows), maxFieldRows)] {
		yield(row.bytes, row.kind, row.field)
	}
	if len(f.rows) > maxFieldRows {
		n := uint64(0)
		for _, row := range f.rows[maxFieldRows:] {
			n += row.bytes
		}
		yield(n, "(other)", "(other)")
	}
}

// Of returns the bytes of a field.
func (f FieldBytes) Of(kind, field string) uint64 {
	for _, row := range f.rows {
		if row.kind == kind && row.field == field {
			return row.bytes
		}
	}
	return 0
}

// fieldCosts counts how often each field of a kind is sent, in arrays. The bytes are worked out when somebody asks. It is used
// while the dialect publishes, or in its server's loop: never at the same time.
type fieldCosts struct {
	kinds []kindCosts
	size  fieldSize
}

// fieldSize returns the size of a field, the i-th of its kind. A text has its own bytes besides.
type fieldSize func(f *world.Field, i int) int

type kindCosts struct {
	whole uint64   // times that all fields were sent
	sent  []uint64 // times that a field was sent besides
	texts []uint64 // bytes of texts, beyond their size
	long  []int    // the fields that are texts
}

func newFieldCosts(s *world.Schema, size fieldSize) fieldCosts {
	c := fieldCosts{make([]kindCosts, len(s.Kinds)), size}
	for _, k := range s.Kinds {
		one := &c.kinds[k.Index()]
		one.sent, one.texts = make([]uint64, len(k.Fields)), make([]uint64, len(k.Fields))
		for i := range k.Fields {
			if k.Fields[i].Type == world.Text {
				one.long = append(one.long, i)
			}
		}
	}
	return c
}

// whole counts an entity whose fields were all sent, so many times.
func (f *fieldCosts) whole(c *world.Change, times uint64) {
	k := &f.kinds[c.Kind.Index()]
	k.whole += times
	for _, i := range k.long {
		k.texts[i] += times * uint64(len(c.Value(i).Text()))
	}
}

// masked counts the fields of a change. Both axes of a position are sent if one has changed.
func (f *fieldCosts) masked(c *world.Change) {
	const position = 1<<world.FieldX | 1<<world.FieldY
	k, mask := &f.kinds[c.Kind.Index()], c.Mask
	if c.Kind.HasBody && mask&position != 0 {
		mask |= position
	}
	for i := range world.Fields(mask) {
		k.sent[i]++
	}
	for _, i := range k.long {
		if c.Has(i) {
			k.texts[i] += uint64(len(c.Value(i).Text()))
		}
	}
}

// bytes returns the bytes of all fields.
func (f *fieldCosts) bytes(s *world.Schema) (b FieldBytes) {
	for _, kind := range s.Kinds {
		k := &f.kinds[kind.Index()]
		for i := range kind.Fields {
			n := (k.whole+k.sent[i])*uint64(f.size(&kind.Fields[i], i)) + k.texts[i]
			b.rows = append(b.rows, fieldRow{kind.Name, kind.Fields[i].Name, n})
		}
	}
	return b
}

// plainSize is the size of a field in a record: that of its type on the wire.
func plainSize(f *world.Field, _ int) int { return f.Wire.Bytes() }

// realmSize is the size of a field in a block of realm. A position has six bytes, three for either axis. An attribute has its
// number before it, and a text the size in two bytes.
func realmSize(f *world.Field, i int) int {
	switch {
	case f.Type == world.Text:
		return 2 + 2
	case !f.InBody:
		return 2 + f.Wire.Bytes()
	case i == world.FieldX || i == world.FieldY:
		return 3
	}
	return f.Type.Bytes()
}
