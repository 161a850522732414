package program

import (
	"encoding/json"
	"fmt"
	"math"

	"parley/protocol/duplex"
	"parley/protocol/duplex/core"
)

// duplexCodec joins the dialect duplex to decode and encode. It has no schema: data reaches
// to the end of what it is given.
var duplexCodec = Codec{Name: "duplex", Channels: []string{"main", "feed"}, Decode: decodeDuplex, Encode: encodeDuplex}

var (
	duplexSides    = map[Side]core.Side{SideClient: core.FromClient, SideServer: core.FromServer}
	duplexChannels = map[string]core.Channel{"main": duplex.Main, "feed": duplex.Feed}
)

var duplexTable = table[core.Message, core.Kind]{"message", func(m *core.Message) *core.Kind { return &m.Kind }, duplexKinds()}

func duplexKinds() map[core.Kind][]field[core.Message] {
	type M = core.Message
	code := shapedField("code", func(m *M) uint8 { return m.Code }, func(m *M, code uint8) error {
		if m.Code = code; core.KindOf(code) != m.Kind {
			return fmt.Errorf("code: %d is not that of a %s", code, m.Kind)
		}
		return nil
	})
	sid := plainField("sid", func(m *M) *int16 { return &m.SID })
	player := plainField("player", func(m *M) *int16 { return &m.Player })
	token := plainField("token", func(m *M) *int32 { return &m.Token })
	status := plainField("status", func(m *M) *uint8 { return &m.Status })
	data := hexField("data", math.MaxInt, func(m *M) *[]byte { return &m.Data })
	return map[core.Kind][]field[M]{
		core.KindUpdate:      {sid, data},
		core.KindSync:        {sid, data},
		core.KindConnInitRep: {player, token},
		core.KindFeedInit:    {player, token},
		core.KindFeedInitRep: {token},
		core.KindSignal:      {code},
		core.KindQuery:       {code, data},
		core.KindReply:       {code, status, data},
	}
}

func decodeDuplex(from Side, channel string, b []byte) (any, error) {
	var d core.Datagram
	if channel == "feed" {
		if err := d.ParseErr(duplexSides[from], b); err != nil {
			return nil, err
		}
		return object{{"feed_sequence", d.Sequence}, {"message", duplexTable.show(&d.Message)}}, nil
	}
	if err := d.Message.ParseErr(duplexSides[from], duplexChannels[channel], b); err != nil {
		return nil, err
	}
	return object{{"message", duplexTable.show(&d.Message)}}, nil
}

func encodeDuplex(from Side, channel string, line []byte) ([]byte, error) {
	in := struct {
		FeedSequence int64           `json:"feed_sequence"`
		Message      json.RawMessage `json:"message"`
	}{Message: []byte("{}")}
	if err := takeJSON("", line, &in); err != nil {
		return nil, err
	}
	d := core.Datagram{Sequence: in.FeedSequence}
	if err := duplexTable.take(&d.Message, in.Message); err != nil {
		return nil, err
	}
	// What is left to be wrong is wrong in the bytes too, and ParseErr has words for it.
	if channel == "feed" {
		b := d.AppendTo(nil)
		return b, d.ParseErr(duplexSides[from], b)
	}
	if d.Sequence != 0 {
		return nil, fmt.Errorf("feed_sequence: main has none, only feed has")
	}
	b := d.Message.AppendTo(nil)
	return b, d.Message.ParseErr(duplexSides[from], duplexChannels[channel], b)
}
