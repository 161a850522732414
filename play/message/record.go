package message

import (
	"iter"

	"parley/world"
)

const (
	// MaxFields is the greatest size of a record's fields in bytes, as one byte holds their size. The world accepts no kind
	// with more.
	MaxFields = 255

	// RecordBytes is the size of a record without fields.
	RecordBytes = 4
)

// Record is the state of an entity, in stamp and relay: "entity u16, kind u8, size u8, fields".
type Record struct {
	Entity uint16
	Kind   int    // its number
	Fields []byte // all of them, in the order of the kind; none if the entity is gone
}

// AppendRecord appends the record of a change. It reports false, and appends nothing, if b would have more than limit bytes.
func AppendRecord(b []byte, c *world.Change, o world.Order, limit int) ([]byte, bool) {
	start := len(b)
	b = order(o).AppendUint16(b, c.Entity)
	b = append(b, byte(c.Kind.Number), 0)
	if c.What != world.Left {
		b = AppendFields(b, c, o)
	}
	size := len(b) - start - RecordBytes
	if len(b) > limit || size > MaxFields {
		return b[:start], false
	}
	b[start+RecordBytes-1] = byte(size)
	return b, true
}

// Records yields the records of a packet. It ends before a record that is cut off.
func Records(b []byte, o world.Order) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		r := read(b, o)
		for r.Len() > 0 {
			rec := Record{Entity: r.u16("entity"), Kind: int(r.U8("kind"))}
			rec.Fields = r.Bytes("fields", int(r.U8("size")), MaxFields)
			if !r.OK() || !yield(rec) {
				return
			}
		}
	}
}
