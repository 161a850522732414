package core

import (
	"bytes"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// readVectors reads the messages that were written by hand: those of vectors.json are shared by all who speak the dialect, and
// those of more.json are ours. That their fields are right is held against the commands in program.
func readVectors(t testing.TB) []kit.Vector[struct{ Message string }] {
	t.Helper()
	return kit.Vectors[struct{ Message string }](t, 20, "testdata/vectors.json", "testdata/more.json")
}

// T6: each vector is read as what it says and written as it is; each bad one is refused, also
// in a stream.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "realm", 1)
	counts := map[string]int{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b := v.Bytes
			var m Message
			err := testCodec.ParseErr(map[string]Side{"client": FromClient, "server": FromServer}[v.From], b, &m)
			if v.Packet == nil {
				if err == nil || v.Error == "" {
					t.Fatalf("%x is accepted as %+v, but: %s", b, m, v.Error)
				}
				return
			}
			if err != nil || m.Kind.String() != v.Packet.Message {
				t.Fatalf("%x is a %v: %v", b, m.Kind, err)
			}
			counts[v.Packet.Message]++
			if got := testCodec.AppendTo(nil, &m); !bytes.Equal(got, b) {
				t.Errorf("wrote %x, want %x", got, b)
			}
		})
	}
	for kind := KindPing; kind <= KindChunksUpdate; kind++ {
		if counts[kind.String()] < 3 && kind > KindPong {
			t.Errorf("%d vectors of %s, want at least 3", counts[kind.String()], kind)
		}
	}
}
