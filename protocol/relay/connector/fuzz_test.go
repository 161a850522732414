package connector

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

// T4: any bytes, as a payload of each set.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.bytes)
	}
	f.Add([]byte{0, 1, 'X', 0, 1, 'Y'})      // two messages
	f.Add([]byte{3, 0, 0, 1, 251, 0, 60})    // a count in a longer form than it needs
	f.Add([]byte{5, 0, 0, 0x7f, 0xc0, 0, 0}) // NaN
	f.Add([]byte{0, 253, 0, 0, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxFuzzed {
			return
		}
		for i := range sets {
			fuzzPayload(t, &sets[i], b)
		}
	})
}

func fuzzPayload(t *testing.T, s *set, b []byte) {
	input := bytes.Clone(b)
	m := s.make()
	msgs, n := Read(b), 0
	var out []byte
	for ; msgs.Next(m); n++ {
		if out = m.AppendTo(out); msgs.Offset() != len(out) {
			t.Fatalf("%s %x: message %d ends at %d, and was written up to %d", s.name, b, n, msgs.Offset(), len(out))
		}
	}
	want, ok := oracleAll(s, b)
	if msgs.OK() != ok || n != want || isSequence(b, m) != ok {
		t.Fatalf("%s %x: %d messages, %t; want %d, %t", s.name, b, n, msgs.OK(), want, ok)
	}
	err := msgs.Err()
	if e := (*wire.Error)(nil); (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b)) {
		t.Fatalf("%s %x: accepted %t, and the error is %v", s.name, b, ok, err)
	}
	if !bytes.Equal(b, input) || !bytes.HasPrefix(b, out) || ok && len(out) != len(b) {
		t.Fatalf("%s\ncame  %x\nis    %x\nwrote %x", s.name, input, b, out)
	}
}
