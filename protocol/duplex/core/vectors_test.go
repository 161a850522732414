package core

import (
	"bytes"
	"encoding/hex"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// packet is the message of a vector in words.
type packet struct {
	FeedSequence int64 `json:"feed_sequence"`
	Message      struct {
		Message string
		Code    uint8
		SID     int16
		Player  int16
		Token   int32
		Status  uint8
		Data    string
	}
}

// T6: the vectors, both ways.
func TestVectors(t *testing.T) {
	promise.Keeps(t, "T6", "duplex", 1)
	for _, v := range kit.Vectors[packet](t, 27, "testdata/vectors.json") {
		t.Run(v.Name, func(t *testing.T) {
			b := v.Bytes
			from := map[string]Side{"client": FromClient, "server": FromServer}[v.From]
			var d Datagram
			if v.Packet == nil {
				err := d.Message.ParseErr(from, Main, b)
				if v.Channel == "feed" {
					err = d.ParseErr(from, b)
				}
				if err == nil {
					t.Errorf("it passes, but %s", v.Error)
				}
				return
			}
			on, err := Main, error(nil)
			if v.Packet.FeedSequence > 0 {
				on, err = Feed, d.ParseErr(from, b)
			} else {
				err = d.Message.ParseErr(from, Main, b)
			}
			if err != nil {
				t.Fatal(err)
			}
			m, want := d.Message, v.Packet.Message
			if m.Kind.String() != want.Message || want.Code != 0 && m.Code != want.Code || m.SID != want.SID || m.Player != want.Player ||
				m.Token != want.Token || m.Status != want.Status || hex.EncodeToString(m.Data) != want.Data || d.Sequence != v.Packet.FeedSequence {
				t.Errorf("it reads as %+v, want %+v", d, *v.Packet)
			}
			again := m.AppendTo(nil)
			if on == Feed {
				again = d.AppendTo(nil)
			}
			if !bytes.Equal(again, b) {
				t.Errorf("it is written as %x", again)
			}
		})
	}
}
