package core

import "testing"

// maxFuzzed bounds an input. Whenever a long one leads to something new the fuzzer
// cuts it down byte by byte, which can take all of a run; what depends on length
// is tried in full by the tests of T5.
const maxFuzzed = 128

// T4, FuzzParse: any bytes from either side are refused, or mean what they are.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.From == "server", v.Bytes)
	}
	for _, b := range []string{
		"00 00 0100 02", "01 00 0000 08 61 ff fe c3a9 e282 62", "06 ff 0102 0807060504030201 02 c3a9 0100 00",
		"05 01 0000 0000000000000000 02 02 0100 00 0100 01 0100 00 0500 00 0500 00",
	} {
		f.Add(true, unhex(f, b))
	}
	f.Fuzz(func(t *testing.T, server bool, b []byte) {
		if len(b) > maxFuzzed {
			return
		}
		from := FromClient
		if server {
			from = FromServer
		}
		var p, q Packet
		ok, err := p.Parse(from, b), q.ParseErr(from, b)
		if ok != (err == nil) || p.Kind != q.Kind || ok != (p.Kind != 0) {
			t.Fatalf("%x: Parse says %t, ParseErr %v", b, ok, err)
		}
		checkPlain(t, &p, b)
		if !ok {
			return
		}
		checkAccepted(t, &p, b, nil)
		if rules[p.Kind].from&from == 0 {
			t.Fatalf("%x: a %v from a %v", b, p.Kind, from)
		}
		// A packet is one kind whoever sends it.
		if other := fromBoth ^ from; q.Parse(other, b) && q.Kind != p.Kind {
			t.Fatalf("%x is a %v and a %v", b, p.Kind, q.Kind)
		}
	})
}

// FuzzWriters: the input is a size and a script of pieces.
func FuzzWriters(f *testing.F) {
	f.Add(uint16(1200), []byte{0, 3, 0x10, 4, 0x50, 5, 7, 8, 9, 9})
	f.Add(uint16(20), []byte{1, 3, 2, 0, 2, 4, 3, 3})
	f.Add(uint16(0), []byte{4, 4})
	f.Fuzz(func(t *testing.T, size uint16, pieces []byte) {
		if len(pieces) > maxFuzzed {
			return
		}
		(&script{t, pieces, int(size)}).replicate()
		(&script{t, pieces, int(size)}).table()
	})
}
