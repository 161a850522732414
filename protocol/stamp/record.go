package stamp

import (
	"encoding/binary"

	"parley/internal/wire"
)

// Records walks the records in the data of an entity packet. It allocates nothing.
// The zero value walks no data.
type Records struct {
	r wire.LittleReader
	n int // how many have been read
}

// ReadRecords returns a walk of data, which is that of one packet. Nothing is looked at
// yet; a receiver that must not act on half a packet asks CheckRecords first.
func ReadRecords(data []byte) Records { return Records{r: wire.Little(data)} }

// CheckRecords reports whether data is whole records to its end. None at all are fine.
func CheckRecords(data []byte) bool {
	records := ReadRecords(data)
	var rec Record
	for records.Next(&rec) {
	}
	return records.OK()
}

// Next reads the next record into rec. It is false at the end of the data and at a
// record that runs past it, which OK and Err tell apart; rec is then empty. Its Fields
// are a part of the data: copy what outlives it.
func (w *Records) Next(rec *Record) bool {
	*rec = Record{}
	if w.r.Len() == 0 {
		return false
	}
	entity, kind := w.r.U16("entity"), w.r.U8("kind")
	fields := w.r.Bytes("fields", int(w.r.U8("size")), MaxFields)
	if !w.r.In("records", w.n) {
		return false
	}
	w.n++
	*rec = Record{entity, kind, fields}
	return true
}

// OK reports whether all records so far were whole.
func (w *Records) OK() bool { return w.r.OK() }

// Err returns what is wrong with the record at which Next stopped, as a *wire.Error that
// counts offsets from the start of the data, or nil.
func (w *Records) Err() error { return w.r.Err() }

// AppendTo appends the record and returns true, if b then has at most limit bytes (so
// limit is MaxData for data that begins with b, and MaxPacket behind a header). Else it
// returns b as it was and false: the packet is full. Fields over MaxFields never fit.
func (rec *Record) AppendTo(b []byte, limit int) ([]byte, bool) {
	if len(rec.Fields) > MaxFields || len(b)+RecordBytes+len(rec.Fields) > limit {
		return b, false
	}
	b = binary.LittleEndian.AppendUint16(b, rec.Entity)
	b = append(b, rec.Kind, byte(len(rec.Fields)))
	return append(b, rec.Fields...), true
}
