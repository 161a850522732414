package gateway

import (
	"fmt"

	"parley/protocol/stamp"
	"parley/world"
)

// maxRecord is the greatest size of a record's fields: "a kind whose record could exceed 255
// bytes is refused at registration" (stamp).
const maxRecord = 255

// checkRecords says which kind of a game does not fit into records, if one does not.
func checkRecords(s *world.Schema) error {
	for _, k := range s.Kinds {
		size := 0
		for _, f := range k.Fields {
			size += f.Type.Bytes()
			if f.Type == world.Text {
				size += f.Max
			}
		}
		if size > maxRecord || k.Number > 255 {
			return fmt.Errorf("kind %s has up to %d bytes and the number %d, but a record has at most %d and 255: make its strings shorter with the tag max=",
				k.Name, size, k.Number, maxRecord)
		}
	}
	return nil
}

// appendRecord appends "entity id u16, kind u8, size u8, then the kind's fields in schema
// order"; "size 0 means that the entity is gone". It reports false, and appends nothing, if
// that does not fit into limit bytes.
func appendRecord(b []byte, c *world.Change, o world.Order, limit int) ([]byte, bool) {
	start := len(b)
	b = orderOf(o).AppendUint16(b, c.Entity)
	b = append(b, byte(c.Kind.Number), 0)
	if c.What != world.Left {
		b = appendFields(b, c, o)
	}
	size := len(b) - start - stamp.RecordBytes
	if len(b) > limit || size > maxRecord {
		return b[:start], false
	}
	b[start+stamp.RecordBytes-1] = byte(size)
	return b, true
}
