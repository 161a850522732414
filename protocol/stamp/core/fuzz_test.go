package core

import (
	"bytes"
	"errors"
	"testing"

	"parley/internal/wire"
)

// maxFuzzed bounds an input. Whenever a long one leads to something new the fuzzer cuts it
// down byte by byte, which can take all of a run; what depends on length is tried in
// full by the tests of T5.
const maxFuzzed = 96

// T4: any bytes, as a packet from each side and as the data of an entity packet.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.Bytes)
	}
	f.Add([]byte{1, 0, 1, 2, 0xaa, 0xbb, 2, 0, 1, 0}) // two records
	f.Add([]byte{1, 0, 1, 9, 0xaa})                   // one that runs past the end
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxFuzzed {
			return
		}
		for _, from := range []Side{0, FromClient, FromServer} {
			fuzzPacket(t, from, b)
		}
		fuzzRecords(t, b)
	})
}

func fuzzPacket(t *testing.T, from Side, b []byte) {
	got := Packet{Kind: KindEntity, Reliable: true, Ordered: true, Sequence: 9, Time: 9, Reason: b, Data: b}
	var want, again Packet
	ok, input := oracle(from, b, &want), bytes.Clone(b)
	if got.Parse(from, b) != ok || ok && !same(&got, &want) {
		t.Fatalf("%x from %v: got %+v, want %+v, %t", b, from, got, want, ok)
	}
	err := again.ParseErr(from, b)
	if e := (*wire.Error)(nil); (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b)) {
		t.Fatalf("%x from %v: accepted %t, and the error is %v", b, from, ok, err)
	}
	if !bytes.Equal(b, input) {
		t.Fatalf("%x was changed to %x", input, b)
	}
	if !ok {
		if got.Kind != 0 || again.Kind != 0 {
			t.Fatalf("%x from %v: refused, and yet a %v or %v", b, from, got.Kind, again.Kind)
		}
		return
	}
	if !same(&again, &want) {
		t.Fatalf("%x from %v: ParseErr read %+v, want %+v", b, from, again, want)
	}
	canonical(input)
	if out := got.AppendTo(from, nil); !bytes.Equal(out, input) {
		t.Fatalf("read  %x\nwrote %x", input, out)
	}
}

func fuzzRecords(t *testing.T, data []byte) {
	got, ok := walk(data, nil)
	want, wantOK := oracleRecords(data, nil)
	if ok != wantOK || len(got) != len(want) || CheckRecords(data) != ok {
		t.Fatalf("%x: %d records, %t; want %d, %t", data, len(got), ok, len(want), wantOK)
	}
	var out []byte
	for i := range got {
		if !sameRecord(&got[i], &want[i]) {
			t.Fatalf("%x: record %d is %+v, want %+v", data, i, got[i], want[i])
		}
		fits := false
		if out, fits = got[i].AppendTo(out, len(data)); !fits {
			t.Fatalf("%x: record %d does not fit where it was", data, i)
		}
	}
	if !bytes.HasPrefix(data, out) || ok && len(out) != len(data) {
		t.Fatalf("read  %x\nwrote %x", data, out)
	}
}
