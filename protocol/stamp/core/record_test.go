package core

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// randomRecord makes rec a record, now and then one of a gone entity.
func randomRecord(r *rand.Rand, rec *Record) {
	*rec = Record{uint16(r.Uint32()), uint8(r.Uint32()), randomBytes(r, 255)}
}

func sameRecord(a, b *Record) bool {
	return a.Entity == b.Entity && a.Kind == b.Kind && bytes.Equal(a.Fields, b.Fields)
}

// walk reads all records of data.
func walk(data []byte, into []Record) (records []Record, ok bool) {
	walk := ReadRecords(data)
	var rec Record
	for records = into[:0]; walk.Next(&rec); {
		records = append(records, rec)
	}
	return records, walk.OK()
}

// T1: records are read as they were written, and fill a packet to its limit and not past it.
func TestRecordsRoundTrip(t *testing.T) {
	r := kit.Rand(t)
	var data []byte
	var wrote, got []Record
	want := promise.Keeps(t, "T1", "stamp", kit.Rounds(1_000_000, 10_000_000))
	for written := 0; written < want; written += len(wrote) {
		limit := r.IntN(MaxData + 1)
		data, wrote = data[:0], wrote[:0]
		for range r.IntN(12) {
			var rec Record
			randomRecord(r, &rec)
			before, ok := len(data), false
			fits := before+4+len(rec.Fields) <= limit
			if data, ok = rec.AppendTo(data, limit); ok != fits || !ok && len(data) != before {
				t.Fatalf("a record with %d bytes of fields behind %d of %d: %t, then %d", len(rec.Fields), before, limit, ok, len(data))
			}
			if ok {
				wrote = append(wrote, rec)
			}
		}
		if len(wrote) == 0 {
			written++
		}
		var ok bool
		if got, ok = walk(data, got); !ok || len(got) != len(wrote) || !CheckRecords(data) {
			t.Fatalf("%x: %d of %d records read, ok %t", data, len(got), len(wrote), ok)
		}
		for i := range got {
			if !sameRecord(&got[i], &wrote[i]) || got[i].Gone() != (len(wrote[i].Fields) == 0) {
				t.Fatalf("%x: record %d is %+v, want %+v", data, i, got[i], wrote[i])
			}
		}
	}
}

// T2: data that ends inside a record is refused; at the end of one it is shorter data.
func TestRecordsCutShort(t *testing.T) {
	r := kit.Rand(t)
	var data []byte
	for range promise.Keeps(t, "T2", "stamp", kit.Rounds(100_000, 1_000_000)) {
		data = data[:0]
		ends := map[int]bool{0: true}
		for range 1 + r.IntN(3) {
			var rec Record
			randomRecord(r, &rec)
			data, _ = rec.AppendTo(data, MaxData)
			ends[len(data)] = true
		}
		for n := range len(data) + 1 {
			if CheckRecords(data[:n:n]) != ends[n] {
				t.Fatalf("%x: its first %d bytes: accepted %t", data, n, !ends[n])
			}
		}
	}
}

// T3: random bytes as records, half of them from valid data with something changed: as the
// oracle says, without a panic or an allocation.
func TestRandomRecords(t *testing.T) {
	r := kit.Rand(t)
	valid := make([][]byte, 64)
	for i := range valid {
		for range 1 + i%4 {
			var rec Record
			if randomRecord(r, &rec); len(rec.Fields) > 20 {
				rec.Fields = rec.Fields[:20]
			}
			valid[i], _ = rec.AppendTo(valid[i], MaxData)
		}
	}
	out := make([]byte, 0, MaxPacket)
	got, want := make([]Record, 0, MaxData/4), make([]Record, 0, MaxData/4)
	kit.RandomBytes(t, "stamp", valid, 16, func(in []byte, _ uint64) int {
		var ok, wantOK bool
		got, ok = walk(in, got)
		want, wantOK = oracleRecords(in, want)
		if ok != wantOK || len(got) != len(want) {
			t.Fatalf("%x: %d records, %t; want %d, %t", in, len(got), ok, len(want), wantOK)
		}
		out = out[:0]
		for j := range got {
			if !sameRecord(&got[j], &want[j]) {
				t.Fatalf("%x: record %d is %+v, want %+v", in, j, got[j], want[j])
			}
			out, _ = got[j].AppendTo(out, MaxData)
		}
		if !bytes.HasPrefix(in, out) || ok && len(out) != len(in) {
			t.Fatalf("read  %x\nwrote %x", in, out)
		}
		if ok {
			return 1
		}
		return 0
	})
}

// T5: each size that fields can claim against each that is left.
func TestEveryRecordSize(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	var rec Record
	for size := range 256 {
		for n := range 300 {
			data := append([]byte{1, 2, 3, byte(size)}, noise[:n]...)
			records := ReadRecords(data)
			ok := records.Next(&rec)
			if ok != (size <= n) || records.OK() != ok || ok && (!bytes.Equal(rec.Fields, noise[:size]) || cap(rec.Fields) != size) {
				t.Fatalf("size %d with %d bytes left: %t, %+v", size, n, ok, rec)
			}
			if !ok && (rec.Entity != 0 || rec.Kind != 0 || rec.Fields != nil) {
				t.Fatalf("size %d with %d bytes left: refused, and yet %+v", size, n, rec)
			}
		}
	}
}

// T5: a packet holds a bounded number of records whatever it says.
func TestRecordsAreBoundedByTheData(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	records, ok := walk(make([]byte, MaxData), nil)
	if !ok || len(records) != 297 {
		t.Errorf("%d records in full data, ok %t; want 297", len(records), ok)
	}
	for i := range records {
		if !records[i].Gone() {
			t.Errorf("record %d of size 0 is not gone", i)
		}
	}
}

// T5: limits at, below and above what a record needs, and absurd ones.
func TestRecordBudget(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	for _, tt := range []struct {
		name                  string
		before, fields, limit int
		want                  bool
	}{
		{"just fits", 10, 6, 20, true},
		{"one byte too many", 10, 7, 20, false},
		{"a gone entity just fits", 16, 0, 20, true},
		{"a gone entity does not fit", 17, 0, 20, false},
		{"the most fields", 0, 255, MaxData, true},
		{"more fields than a size can say", 0, 256, MaxData, false},
		{"twice as many", 0, 512, MaxData, false},
		{"full data", MaxData - 10, 6, MaxData, true},
		{"a limit that is passed already", 30, 0, 20, false},
		{"no limit left", 0, 0, 0, false},
		{"a limit below zero", 0, 0, -1, false},
		{"a limit without end", 5, 9, math.MaxInt, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := Record{0x0102, 3, noise[:tt.fields]}
			buf := bytes.Repeat([]byte{0xee}, 4096)
			got, ok := rec.AppendTo(buf[:tt.before], tt.limit)
			want := tt.before
			if tt.want {
				want += 4 + tt.fields
			}
			if ok != tt.want || len(got) != want {
				t.Errorf("%t with %d bytes, want %t with %d", ok, len(got), tt.want, want)
			}
			if rest := buf[want:]; bytes.Count(rest, []byte{0xee}) != len(rest) {
				t.Error("bytes behind the result were changed")
			}
		})
	}
}

// The zero value walks nothing, and after an end or a failure there is nothing more.
func TestRecordsStayAtTheirEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records Records
		count   int
		err     string
	}{
		{"the zero value", Records{}, 0, ""},
		{"no data", ReadRecords(nil), 0, ""},
		{"one record", ReadRecords([]byte{1, 0, 1, 0}), 1, ""},
		{"a record without an entity", ReadRecords([]byte{1, 0, 1, 0, 2}), 1, "records[1].entity: 2 bytes wanted at offset 4, 1 left"},
		{"a record without a kind", ReadRecords([]byte{1, 0}), 0, "records[0].kind: 1 byte wanted at offset 2, 0 left"},
		{"a record without a size", ReadRecords([]byte{1, 0, 1}), 0, "records[0].size: 1 byte wanted at offset 3, 0 left"},
		{"fields past the end", ReadRecords([]byte{1, 0, 1, 2, 0, 1, 2, 0, 1, 9, 0, 1}), 1, "records[1].fields: 9 bytes wanted at offset 10, 2 left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec Record
			for range tt.count {
				if !tt.records.Next(&rec) {
					t.Fatal(tt.records.Err())
				}
			}
			for range 3 {
				err := ""
				if tt.records.Next(&rec) {
					t.Fatalf("one more: %+v", rec)
				}
				if e := tt.records.Err(); e != nil {
					err = e.Error()
				}
				if err != tt.err || tt.records.OK() != (tt.err == "") {
					t.Errorf("ok %t, %q; want %q", tt.records.OK(), err, tt.err)
				}
			}
		})
	}
}

// T7: floats among the fields arrive bit by bit, as only the game knows where they are.
func TestFieldsArriveBitByBit(t *testing.T) {
	promise.Keeps(t, "T7", "stamp", 1)
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1)),
		math.MaxFloat32, math.SmallestNonzeroFloat32} {
		fields := binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
		data, _ := (&Record{Entity: 1, Kind: 1, Fields: fields}).AppendTo(nil, MaxData)
		if got, ok := walk(data, nil); !ok || !bytes.Equal(got[0].Fields, fields) {
			t.Errorf("%v: got %x, want %x", v, got, fields)
		}
	}
}
