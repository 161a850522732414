package core

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"parley/internal/promise"
)

// A vector is a datagram as bytes and as fields, written by hand: those of vectors.json are
// shared by all who speak the dialect, and those of more.json are ours. One without a packet
// is bad input.
type vector struct {
	Name, From, Hex string
	Packet          *struct {
		Packet   string
		Mode     string
		ToServer bool `json:"to_server"`
		ID       uint32
		Payload  string
		IDs      []uint32
	}
	Error string

	// Sent is how we write what the datagram says, where that differs from Hex.
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
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) < 10 {
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

// T6: each vector is read as it says and written as it is; each bad one is refused.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "relay", 1)
	counts := map[string]int{}
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			b := unhex(t, v.Hex)
			var d Datagram
			err := d.ParseErr(b)
			if (v.Packet == nil) == (v.Error == "") {
				t.Fatal("a vector has either a packet or an error")
			}
			if v.Packet == nil {
				if err == nil || d.Parse(b) {
					t.Fatalf("%x is accepted as %+v, but: %s", b, d, v.Error)
				}
				return
			}
			if err != nil || !d.Parse(b) {
				t.Fatalf("%x is refused: %v", b, err)
			}
			counts[v.Packet.Packet]++
			v.check(t, &d)
			want := b
			if v.Sent != "" {
				want = unhex(t, v.Sent)
			}
			if got := d.AppendTo(nil); !bytes.Equal(got, want) {
				t.Errorf("wrote %x, want %x", got, want)
			}
		})
	}
	for kind := KindPackage; kind <= KindConfirmation; kind++ {
		if counts[kind.String()] < 3 {
			t.Errorf("%d vectors of %s, want at least 3", counts[kind.String()], kind)
		}
	}
}

// check compares what was read with what the vector says.
func (v vector) check(t *testing.T, d *Datagram) {
	t.Helper()
	w := v.Packet
	if d.Kind.String() != w.Packet || !slices.Equal(allIDs(d), w.IDs) {
		t.Errorf("%s: got %+v, want %+v", v.Hex, *d, *w)
	}
	if d.Kind == KindPackage && (d.Mode.String() != w.Mode || d.ToServer != w.ToServer || d.ID != w.ID || hex.EncodeToString(d.Payload) != w.Payload) {
		t.Errorf("%s: got %+v, want %+v", v.Hex, *d, *w)
	}
}

// allIDs returns the ids of a confirmation.
func allIDs(d *Datagram) (list []uint32) {
	ids := ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		list = append(list, id)
	}
	return list
}
