package core

import (
	"encoding/hex"
	"reflect"
	"testing"

	"parley/internal/kit"
)

// fields are what a vector says of a datagram.
type fields struct {
	Packet   string
	Mode     string
	ToServer bool `json:"to_server"`
	ID       uint32
	Payload  string
	IDs      []uint32
}

// readVectors reads the datagrams that were written by hand: those of vectors.json are shared by all who speak the
// dialect, and those of more.json are ours.
func readVectors(t testing.TB) []kit.Vector[fields] {
	t.Helper()
	return kit.Vectors[fields](t, 10, "testdata/vectors.json", "testdata/more.json")
}

func TestVectors(t *testing.T) {
	kinds := []string{KindPackage.String(), KindConfirmation.String()}
	kit.ReadVectors(t, "relay", readVectors(t), kinds, func(t *testing.T, v kit.Vector[fields]) (string, []byte, error) {
		var d Datagram
		err := d.ParseErr(v.Bytes)
		if d.Parse(v.Bytes) != (err == nil) {
			t.Errorf("Parse and ParseErr differ: %v", err)
		}
		if err != nil {
			return "", nil, err
		}
		got := fields{Packet: d.Kind.String(), IDs: allIDs(&d)}
		if d.Kind == KindPackage {
			got.Mode, got.ToServer, got.ID, got.Payload = d.Mode.String(), d.ToServer, d.ID, hex.EncodeToString(d.Payload)
		}
		if v.Packet != nil && !reflect.DeepEqual(got, *v.Packet) {
			t.Errorf("%s: got %+v, want %+v", v.Hex, got, *v.Packet)
		}
		return d.Kind.String(), d.AppendTo(nil), nil
	})
}

// allIDs returns the ids of a confirmation.
func allIDs(d *Datagram) (list []uint32) {
	ids := ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		list = append(list, id)
	}
	return list
}
