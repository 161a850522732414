package core

import (
	"encoding/binary"

	"parley/internal/wire"
)

// Records is an iterator over the records in the data of an entity packet. It allocates
// nothing. The zero value has no records.
type Records struct {
	r wire.LittleReader
	n int // how many have been read
}

// ReadRecords returns an iterator over the records in the data of one packet. It does not check the
// data: a receiver that must not act on half a packet calls CheckRecords first.
func ReadRecords(data []byte) Records { return Records{r: wire.Little(data)} }

// CheckRecords reports whether data consists of whole records. It returns true for empty data.
func CheckRecords(data []byte) bool {
	records := ReadRecords(data)
	var rec Record
	for records.Next(&rec) {
	}
	return records.OK()
}

// Next reads the next record into rec. It returns false at the end of the data and at a
// record that runs past the end; OK and Err tell the two apart. rec is then empty. The
// Fields of a record share the memory of the data: copy what must outlive it.
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

// Err returns the fault of the record at which Next stopped, as a *wire.Error with an
// offset from the start of the data, or nil.
func (w *Records) Err() error { return w.r.Err() }

// AppendTo appends the record and returns true, if b then has at most limit bytes
// (MaxData if b begins with the data, MaxPacket if it begins with a header). Otherwise it
// returns b unchanged and false: the packet is full. Fields over MaxFields never fit.
func (rec *Record) AppendTo(b []byte, limit int) ([]byte, bool) {
	if len(rec.Fields) > MaxFields || len(b)+RecordBytes+len(rec.Fields) > limit {
		return b, false
	}
	b = binary.LittleEndian.AppendUint16(b, rec.Entity)
	b = append(b, rec.Kind, byte(len(rec.Fields)))
	return append(b, rec.Fields...), true
}
