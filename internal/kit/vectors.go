package kit

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// Vector is a packet as bytes and as fields, written by hand from the dialect's document. One without a packet is bad input,
// and Error says why.
type Vector[Packet any] struct {
	Name, From, Channel, Hex, Error string
	Packet                          *Packet
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
