package core

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"parley/internal/wire"
)

// maxFuzzed bounds an input: whenever a long one leads to something new the fuzzer cuts it
// down byte by byte, which can take all of a run.
const maxFuzzed = 128

// T4: any bytes, as a message and as a stream, from each side and cut anywhere.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.Bytes, uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		if len(b) > maxFuzzed {
			return
		}
		input := bytes.Clone(b)
		for _, from := range []Side{0, FromClient, FromServer} {
			var m Message
			size, whole := oracle(from, b)
			ok := testCodec.Parse(from, b, &m)
			if ok != (whole && size == len(b)) || ok != (m.Kind != 0) {
				t.Fatalf("%x from %v: accepted %t as %v, and the oracle has %d bytes, %t", b, from, ok, m.Kind, size, whole)
			}
			if ok {
				if out := testCodec.AppendTo(nil, &m); !bytes.Equal(out, input) {
					t.Fatalf("read  %x\nwrote %x", input, out)
				}
			}
			err := testCodec.ParseErr(from, b, &m)
			if e := (*wire.Error)(nil); (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b)) {
				t.Fatalf("%x from %v: accepted %t, and the error is %v", b, from, ok, err)
			}
			if at := int(cut) % (len(b) + 1); from != 0 {
				got, want := decode(from, MaxMessage, b[:at], b[at:]), decode(from, MaxMessage, b)
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Fatalf("%x from %v, cut at %d\ngot  %q\nwant %q", b, from, at, got, want)
				}
			}
		}
		if !bytes.Equal(b, input) {
			t.Fatalf("%x was changed to %x", input, b)
		}
	})
}
