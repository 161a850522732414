package core

import (
	"encoding/hex"
	"testing"

	"parley/internal/kit"
)

// fields are what a vector says of a packet.
type fields struct {
	Packet            string
	Reliable, Ordered bool
	Sequence          uint16
	Timestamp         uint64
	Reason, Data      string
}

// readVectors reads the packets that were written by hand: those of vectors.json are shared by all who speak the dialect,
// and those of more.json are ours.
func readVectors(t testing.TB) []kit.Vector[fields] {
	t.Helper()
	return kit.Vectors[fields](t, 20, "testdata/vectors.json", "testdata/more.json")
}

func TestVectors(t *testing.T) {
	kinds := []string{KindInit.String(), KindAccept.String(), KindDisconnect.String(), KindAck.String(), KindEntity.String()}
	kit.ReadVectors(t, "stamp", readVectors(t), kinds, func(t *testing.T, v kit.Vector[fields]) (string, []byte, error) {
		from, ok := map[string]Side{"client": FromClient, "server": FromServer}[v.From]
		if !ok {
			t.Fatalf("from %q", v.From)
		}
		var p Packet
		err := p.ParseErr(from, v.Bytes)
		if p.Parse(from, v.Bytes) != (err == nil) {
			t.Errorf("Parse and ParseErr differ: %v", err)
		}
		if err != nil {
			return "", nil, err
		}
		got := fields{p.Kind.String(), p.Reliable, p.Ordered, p.Sequence, p.Time, p.ReasonText(), hex.EncodeToString(p.Data)}
		if v.Packet != nil && got != *v.Packet {
			t.Errorf("%s: got %+v, want %+v", v.Hex, got, *v.Packet)
		}
		p.Reason = []byte(p.ReasonText())
		return p.Kind.String(), p.AppendTo(from, nil), nil
	})
}
