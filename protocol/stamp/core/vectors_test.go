package core

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"parley/internal/promise"
)

// A vector is a packet as bytes and as fields, written by hand: those of vectors.json
// are shared by all who speak the dialect, and those of more.json are ours. One without
// a packet is bad input.
type vector struct {
	Name, From, Hex string
	Packet          *struct {
		Packet            string
		Reliable, Ordered bool
		Sequence          uint16
		Timestamp         uint64
		Reason            string
		Data              string
	}
	Error string

	// Sent is how we write what the packet says, where that differs from Hex.
	Sent string
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

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v vector) bytes(t testing.TB) []byte { return unhex(t, v.Hex) }

func (v vector) side(t testing.TB) Side {
	t.Helper()
	switch v.From {
	case "client":
		return FromClient
	case "server":
		return FromServer
	}
	t.Fatalf("%s: from %q", v.Name, v.From)
	return 0
}

// T6: each vector is read as it says and written as it is; each bad one is refused.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "stamp", 1)
	counts := map[string]int{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b, from := v.bytes(t), v.side(t)
			var p Packet
			err := p.ParseErr(from, b)
			if (v.Packet == nil) == (v.Error == "") {
				t.Fatal("a vector has either a packet or an error")
			}
			if v.Packet == nil {
				if err == nil || p.Parse(from, b) {
					t.Fatalf("%x is accepted as %+v, but: %s", b, p, v.Error)
				}
				return
			}
			if err != nil || !p.Parse(from, b) {
				t.Fatalf("%x is refused: %v", b, err)
			}
			counts[v.Packet.Packet]++
			v.check(t, &p)
			want := b
			if v.Sent != "" {
				want = unhex(t, v.Sent)
			}
			p.Reason = []byte(p.ReasonText())
			if got := p.AppendTo(from, nil); !bytes.Equal(got, want) {
				t.Errorf("wrote %x, want %x", got, want)
			}
		})
	}
	for kind := KindInit; kind <= KindEntity; kind++ {
		if counts[kind.String()] < 3 {
			t.Errorf("%d vectors of %s, want at least 3", counts[kind.String()], kind)
		}
	}
}

// check compares what was read with what the vector says.
func (v vector) check(t *testing.T, p *Packet) {
	t.Helper()
	w := v.Packet
	if p.Kind.String() != w.Packet || p.Reliable != w.Reliable || p.Ordered != w.Ordered || p.Sequence != w.Sequence ||
		p.Time != w.Timestamp || p.ReasonText() != w.Reason || hex.EncodeToString(p.Data) != w.Data {
		t.Errorf("%s: got %+v, want %+v", v.Hex, *p, *w)
	}
}
