package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"parley/protocol/duplex"
)

// duplexCodec joins the dialect duplex to decode and encode. It has no schema: data reaches
// to the end of what it is given.
var duplexCodec = Codec{Name: "duplex", Channels: []string{"main", "feed"}, Decode: decodeDuplex, Encode: encodeDuplex}

// duplexPacket is a message of duplex as JSON, with the number of its datagram on
// the feed.
type duplexPacket struct {
	FeedSequence *int64        `json:"feed_sequence,omitempty"`
	Message      duplexMessage `json:"message"`
}

// duplexMessage has the fields of all kinds; those that a kind has are there.
type duplexMessage struct {
	Message string  `json:"message"`
	Code    *uint8  `json:"code,omitempty"`
	SID     *int16  `json:"sid,omitempty"`
	Player  *int16  `json:"player,omitempty"`
	Token   *int32  `json:"token,omitempty"`
	Status  *uint8  `json:"status,omitempty"`
	Data    *string `json:"data,omitempty"` // hex
}

var (
	duplexSides    = map[Side]duplex.Side{SideClient: duplex.FromClient, SideServer: duplex.FromServer}
	duplexChannels = map[string]duplex.Channel{"main": duplex.Main, "feed": duplex.Feed}
)

func decodeDuplex(from Side, channel string, b []byte) (any, error) {
	var d duplex.Datagram
	if channel == "feed" {
		if err := d.ParseErr(duplexSides[from], b); err != nil {
			return nil, err
		}
		return duplexPacket{&d.Sequence, duplexJSON(&d.Message)}, nil
	}
	if err := d.Message.ParseErr(duplexSides[from], duplexChannels[channel], b); err != nil {
		return nil, err
	}
	return duplexPacket{nil, duplexJSON(&d.Message)}, nil
}

// duplexFields are the fields of each kind, as JSON names them.
var duplexFields = map[duplex.Kind]string{
	duplex.KindUpdate:      "sid data",
	duplex.KindSync:        "sid data",
	duplex.KindConnInitRep: "player token",
	duplex.KindFeedInit:    "player token",
	duplex.KindFeedInitRep: "token",
	duplex.KindSignal:      "code",
	duplex.KindQuery:       "code data",
	duplex.KindReply:       "code status data",
}

func duplexJSON(m *duplex.Message) duplexMessage {
	out := duplexMessage{Message: m.Kind.String()}
	data := hex.EncodeToString(m.Data)
	for field := range bytes.FieldsSeq([]byte(duplexFields[m.Kind])) {
		switch string(field) {
		case "code":
			out.Code = &m.Code
		case "sid":
			out.SID = &m.SID
		case "player":
			out.Player = &m.Player
		case "token":
			out.Token = &m.Token
		case "status":
			out.Status = &m.Status
		case "data":
			out.Data = &data
		}
	}
	return out
}

func encodeDuplex(from Side, channel string, line []byte) ([]byte, error) {
	var in duplexPacket
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // a field that is misspelt must not become a zero
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	m, err := in.Message.message()
	if err != nil {
		return nil, err
	}
	if channel == "feed" {
		d := duplex.Datagram{Message: m}
		if in.FeedSequence != nil {
			d.Sequence = *in.FeedSequence
		}
		b := d.AppendTo(nil)
		// What is left to be wrong is wrong in the bytes too, and ParseErr has words for it.
		return b, d.ParseErr(duplexSides[from], b)
	}
	if in.FeedSequence != nil && *in.FeedSequence != 0 {
		return nil, fmt.Errorf("feed_sequence: main has none, only feed has")
	}
	b := m.AppendTo(nil)
	return b, m.ParseErr(duplexSides[from], duplexChannels[channel], b)
}

// message checks what AppendTo would leave out or write as another kind.
func (in *duplexMessage) message() (m duplex.Message, err error) {
	if m.Kind, err = duplexKind(in.Message); err != nil {
		return m, err
	}
	has := map[string]bool{}
	for field := range bytes.FieldsSeq([]byte(duplexFields[m.Kind])) {
		has[string(field)] = true
	}
	for name, given := range map[string]bool{
		"code": in.Code != nil && *in.Code != 0, "sid": in.SID != nil && *in.SID != 0, "player": in.Player != nil && *in.Player != 0,
		"token": in.Token != nil && *in.Token != 0, "status": in.Status != nil && *in.Status != 0, "data": in.Data != nil && *in.Data != "",
	} {
		if given && !has[name] {
			return m, fmt.Errorf("%s: %s has none", name, in.Message)
		}
	}
	m.Code, m.SID, m.Player = orZero(in.Code), orZero(in.SID), orZero(in.Player)
	m.Token, m.Status = orZero(in.Token), orZero(in.Status)
	if m.Data, err = hex.DecodeString(orZero(in.Data)); err != nil {
		return m, fmt.Errorf("data: %w", err)
	}
	if has["code"] && duplex.KindOf(m.Code) != m.Kind {
		return m, fmt.Errorf("code: %d is not that of a %s", m.Code, in.Message)
	}
	return m, nil
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func duplexKind(name string) (duplex.Kind, error) {
	var names []string
	for kind := duplex.KindUpdate; kind <= duplex.KindReply; kind++ {
		if kind.String() == name {
			return kind, nil
		}
		names = append(names, kind.String())
	}
	return 0, fmt.Errorf("message: no message is named %q; there are %s", name, sentenceList(names, "and"))
}
