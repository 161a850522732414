package core

import (
	"errors"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T6: the tables of docs/protocols/stamp.md are those of the code.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "stamp", 1)
	tables := pagetest.Tables(t, "../../../docs/protocols/stamp.md")
	for heading, rows := range map[string]int{"Packets": 6, "Header": 4, "connect.init and connect.accept": 1,
		"connect.disconnect": 3, "entity": 1, "Flags": 3, "Records": 4, "Limits": 6} {
		if len(tables[heading]) != rows {
			t.Fatalf("%d rows under %q, want %d", len(tables[heading]), heading, rows)
		}
	}
	t.Run("packets", func(t *testing.T) { checkPackets(t, tables["Packets"]) })
	t.Run("fields", func(t *testing.T) {
		header := tables["Header"]
		for _, tt := range []struct {
			heading string
			p       Packet
		}{
			{"connect.init and connect.accept", Packet{Kind: KindAccept, Sequence: 1, Time: 0x0123456789abcdef}},
			{"connect.disconnect", Packet{Kind: KindDisconnect, Sequence: 0x1234, Time: 1 << 63, Reason: noise[:255]}},
			{"ack", Packet{Kind: KindAck, Sequence: 0xfedc, Time: 0xfedcba9876543210}},
			{"entity", Packet{Kind: KindEntity, Reliable: true, Ordered: true, Sequence: 2, Time: 3, Data: noise[:1188]}},
		} {
			checkFields(t, append(header[:len(header):len(header)], tables[tt.heading]...), tt.p)
		}
	})
	t.Run("flags", func(t *testing.T) { checkFlags(t, tables["Flags"]) })
	t.Run("records", func(t *testing.T) { checkRecordFields(t, tables["Records"]) })
	t.Run("limits", func(t *testing.T) {
		want := map[string]int{"`HeaderBytes`": HeaderBytes, "`MaxPacket`": MaxPacket, "`MaxData`": MaxData,
			"`MaxReason`": MaxReason, "`RecordBytes`": RecordBytes, "`MaxFields`": MaxFields}
		kit.Limits(t, tables["Limits"], "bytes", want)
	})
}

// A packetRow is a row of the table of packets, as numbers: -1 is any.
type packetRow struct {
	packet, sentBy          string
	kind, connect, sequence int
	low, high               int // bytes in all
}

func (row packetRow) allows(from Side, kind, connect, sequence, size int) bool {
	return (row.sentBy == from.String() || row.sentBy == "both") && row.kind == kind && (row.connect == -1 || row.connect == connect) &&
		(row.sequence == -1 || row.sequence == sequence) && row.low <= size && size <= row.high
}

// checkPackets tries each start of a packet in each size, with some sequences and from
// each side: it is accepted if and only if a row says so, as the packet that it says.
func checkPackets(t *testing.T, cells pagetest.Table) {
	var rows []packetRow
	for _, c := range cells {
		row := packetRow{packet: c["packet"], sentBy: c["sent by"], kind: pagetest.Number(t, c["type"]), connect: -1, sequence: -1}
		if c["connection type"] != "–" {
			row.connect = pagetest.Number(t, c["connection type"])
		}
		if c["sequence"] != "any" {
			row.sequence = pagetest.Number(t, c["sequence"])
		}
		row.low, row.high = pagetest.Span(t, c["bytes in all"])
		rows = append(rows, row)
	}
	b := make([]byte, 1300)
	for kind := range 5 {
		for connect := range 5 {
			for sequence := range 3 {
				for size := HeaderBytes - 1; size < len(b); size++ {
					b[0], b[2], b[12], b[13] = byte(kind), byte(sequence), byte(connect), byte(max(size-14, 0))
					for _, from := range []Side{FromClient, FromServer} {
						got, want := "", ""
						for _, row := range rows {
							if row.allows(from, kind, connect, sequence, size) {
								want = row.packet
							}
						}
						if p := new(Packet); p.Parse(from, b[:size]) {
							got = p.Kind.String()
						}
						if got != want {
							t.Fatalf("%x and %d bytes in all from a %v is %q, and the page says %q", b[:14], size, from, got, want)
						}
					}
				}
			}
		}
	}
}

// checkFields reads the values of p out of its bytes where the rows say that they are, and
// cuts the bytes inside each field: the error must name it as the row does.
func checkFields(t *testing.T, rows pagetest.Table, p Packet) {
	b := p.AppendTo(FromServer, nil)
	numbers := map[string]uint64{
		"packet type":     map[Kind]uint64{KindAck: 1, KindEntity: 2}[p.Kind],
		"flags":           map[Kind]uint64{KindEntity: 3}[p.Kind],
		"sequence":        uint64(p.Sequence),
		"timestamp":       p.Time,
		"connection type": map[Kind]uint64{KindAccept: 1, KindDisconnect: 2}[p.Kind],
		"reason size":     uint64(len(p.Reason)),
	}
	runs := map[string][]byte{"reason": p.Reason, "data": p.Data}
	end := 0
	for _, row := range rows {
		at, field := pagetest.Number(t, row["offset"]), row["field"]
		if at != end {
			t.Errorf("%v: %s is at %d, and what precedes it ends at %d", p.Kind, field, at, end)
		}
		_, size := pagetest.Span(t, row["bytes"])
		end = at + size
		if end > len(b) {
			t.Fatalf("%v: %s ends at %d of %d bytes", p.Kind, field, end, len(b))
		}
		if run, ok := runs[field]; ok {
			if string(run) != string(b[at:end]) {
				t.Errorf("%v: %s is not the bytes %d to %d", p.Kind, field, at, end)
			}
		} else if want, ok := numbers[field]; !ok || little(b[at:end]) != want {
			t.Errorf("%v: %s is %#x at offset %d, want %#x", p.Kind, field, little(b[at:end]), at, want)
		}
		if field == "data" {
			continue // there is no too little of it
		}
		for n := at; n < end; n++ {
			err, e := new(Packet).ParseErr(FromServer, b[:n]), (*wire.Error)(nil)
			if !errors.As(err, &e) || e.Field != field || e.Offset != at || e.Cause != wire.CauseShort {
				t.Errorf("%v cut to %d bytes: %v, and the page says %s at %d", p.Kind, n, err, field, at)
			}
		}
	}
	if end != len(b) {
		t.Errorf("%v: the page describes %d of %d bytes", p.Kind, end, len(b))
	}
}

// little reads up to 8 bytes, the least significant first.
func little(b []byte) (v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// checkFlags tries each flag, with all flags below it set as well, on each packet.
func checkFlags(t *testing.T, rows pagetest.Table) {
	words := []string{"reliable", "ordered"}
	next := 0
	for _, row := range rows {
		low, high := pagetest.Span(t, row["bit"])
		for bit := low; bit <= high; bit++ {
			if bit != next {
				t.Errorf("bit %d follows bit %d", bit, next-1)
			}
			next = bit + 1
			for _, s := range shapes {
				column := "on all others"
				if s.kind == KindEntity {
					column = "on entity packets"
				}
				if got := fateOfFlag(s, bit); got != row[column] {
					t.Errorf("bit %d of %s is %s, and the page says %s", bit, s.name, got, row[column])
				}
			}
			if bit < len(words) && !strings.HasPrefix(row["set"], words[bit]) {
				t.Errorf("bit %d is %s, and the page says %s", bit, words[bit], row["set"])
			}
		}
	}
	if next != 8 {
		t.Errorf("the page describes %d of 8 bits", next)
	}
}

func fateOfFlag(s shape, bit int) string {
	in := Packet{Kind: s.kind}
	if s.kind == KindAccept {
		in.Sequence = 1
	}
	b := in.AppendTo(s.from, nil)
	b[1] = byte(2<<bit - 1)
	var p Packet
	switch {
	case !p.Parse(s.from, b):
		return "refused"
	case bit == 0 && p.Reliable || bit == 1 && p.Reliable && p.Ordered:
		return "counts"
	case !p.Reliable && !p.Ordered:
		return "ignored"
	}
	return "something else"
}

func checkRecordFields(t *testing.T, rows pagetest.Table) {
	rec := Record{0x1234, 0x56, noise[:255]}
	b, _ := rec.AppendTo(nil, MaxData)
	numbers := map[string]uint64{"entity": 0x1234, "kind": 0x56, "size": 255}
	end := 0
	for _, row := range rows {
		at, field := pagetest.Number(t, row["offset"]), row["field"]
		_, size := pagetest.Span(t, row["bytes"])
		if at != end || at+size > len(b) {
			t.Fatalf("%s takes %d bytes at %d of %d, and what precedes it ends at %d", field, size, at, len(b), end)
		}
		end = at + size
		if want, ok := numbers[field]; ok && little(b[at:end]) != want || !ok && (field != "fields" || string(b[at:end]) != string(rec.Fields)) {
			t.Errorf("%s is not at offset %d: %x", field, at, b)
		}
		for n := max(at, 1); n < end; n++ {
			records := ReadRecords(b[:n])
			e := (*wire.Error)(nil)
			if records.Next(new(Record)) || !errors.As(records.Err(), &e) || e.Field != "records[0]."+field || e.Offset != at {
				t.Errorf("a record cut to %d bytes: %v, and the page says %s at %d", n, records.Err(), field, at)
			}
		}
	}
	if end != len(b) {
		t.Errorf("the page describes %d of %d bytes", end, len(b))
	}
}
