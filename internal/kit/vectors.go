package kit

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"parley/internal/promise"
)

// Vector is a packet as bytes and as fields, written by hand from the dialect's document. One without a packet is bad input,
// and Error says why.
type Vector[Packet any] struct {
	Name, From, Channel, Hex, Error string
	Packet                          *Packet
	Sent                            string // how we write it, where that differs from Hex
	Bytes                           []byte `json:"-"` // of Hex
}

// Vectors reads files of at least so many vectors each.
func Vectors[Packet any](t testing.TB, least int, files ...string) (all []Vector[Packet]) {
	t.Helper()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []Vector[Packet]
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) < least {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		for i := range vectors {
			if vectors[i].Bytes, err = hex.DecodeString(vectors[i].Hex); err != nil {
				t.Fatalf("%s: %v", vectors[i].Name, err)
			}
		}
		all = append(all, vectors...)
	}
	return all
}

// ReadVectors is T6: each vector is read as it says, and written as it is or as Sent says; each bad one is refused. There are
// three of each kind at least. read reads the bytes of a vector, and holds a good one against its packet; it returns the
// kind that it read and how that is written.
func ReadVectors[Packet any](t *testing.T, part string, vectors []Vector[Packet], kinds []string, read func(t *testing.T, v Vector[Packet]) (kind string, written []byte, err error)) {
	promise.Keeps(t, "T6", part, 1)
	counts := map[string]int{}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			if (v.Packet == nil) == (v.Error == "") {
				t.Fatal("a vector has either a packet or an error")
			}
			kind, written, err := read(t, v)
			switch {
			case v.Packet == nil && err == nil:
				t.Fatalf("%s is accepted as %s, but: %s", v.Hex, kind, v.Error)
			case v.Packet == nil:
				return
			case err != nil:
				t.Fatalf("%s is refused: %v", v.Hex, err)
			}
			counts[kind]++
			if got, want := hex.EncodeToString(written), cmp.Or(v.Sent, v.Hex); got != want {
				t.Errorf("wrote %s, want %s", got, want)
			}
		})
	}
	for _, kind := range kinds {
		if counts[kind] < 3 {
			t.Errorf("%d vectors of %s, want at least 3", counts[kind], kind)
		}
	}
}
