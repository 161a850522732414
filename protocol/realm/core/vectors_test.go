package core

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"parley/internal/promise"
)

// A vector is a message as bytes and as fields, written by hand: those of vectors.json are
// shared by all who speak the dialect, and those of more.json are ours. One without a packet
// is bad input. That the fields are right is held against the commands in cmd/program.
type vector struct {
	Name, From, Hex, Error string
	Packet                 *struct{ Message string }
}

func readVectors(t testing.TB) (all []vector) {
	t.Helper()
	for _, name := range []string{"testdata/vectors.json", "testdata/more.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) < 20 {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		all = append(all, vectors...)
	}
	return all
}

func (v vector) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v vector) side() Side {
	return map[string]Side{"client": FromClient, "server": FromServer}[v.From]
}

// T6: each vector is read as what it says and written as it is; each bad one is refused, also
// in a stream.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "realm", 1)
	counts := map[string]int{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b := v.bytes(t)
			var m Message
			err := testCodec.ParseErr(v.side(), b, &m)
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
