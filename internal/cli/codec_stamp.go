package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"parley/protocol/stamp"
)

// stampCodec joins the dialect stamp to decode and encode.
var stampCodec = Codec{Name: "stamp", Decode: decodeStamp, Encode: encodeStamp}

// stampPacket is a packet of stamp as JSON. Reason and Data are there, if only as an
// empty text, on the packets that have them.
type stampPacket struct {
	Packet    string  `json:"packet"`
	Reliable  bool    `json:"reliable"`
	Ordered   bool    `json:"ordered"`
	Sequence  uint16  `json:"sequence"`
	Timestamp uint64  `json:"timestamp"`
	Reason    *string `json:"reason,omitempty"`
	Data      *string `json:"data,omitempty"` // hex
}

var stampSides = map[Side]stamp.Side{SideClient: stamp.FromClient, SideServer: stamp.FromServer}

func decodeStamp(from Side, _ string, b []byte) (any, error) {
	var p stamp.Packet
	if err := p.ParseErr(stampSides[from], b); err != nil {
		return nil, err
	}
	out := stampPacket{
		Packet: p.Kind.String(), Reliable: p.Reliable, Ordered: p.Ordered, Sequence: p.Sequence, Timestamp: p.Time,
	}
	switch p.Kind {
	case stamp.KindDisconnect:
		reason := p.ReasonText()
		out.Reason = &reason
	case stamp.KindEntity:
		data := hex.EncodeToString(p.Data)
		out.Data = &data
	}
	return out, nil
}

func encodeStamp(from Side, _ string, line []byte) ([]byte, error) {
	var in stampPacket
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // a field that is misspelt must not become a zero
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	p, err := in.packet(stampSides[from])
	if err != nil {
		return nil, err
	}
	b := p.AppendTo(stampSides[from], nil)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, p.ParseErr(stampSides[from], b)
}

// packet checks what AppendTo would leave out or could not write.
func (in *stampPacket) packet(from stamp.Side) (stamp.Packet, error) {
	p := stamp.Packet{Reliable: in.Reliable, Ordered: in.Ordered, Sequence: in.Sequence, Time: in.Timestamp}
	var err error
	if p.Kind, err = stampKind(in.Packet); err != nil {
		return p, err
	}
	if in.Reason != nil {
		p.Reason = []byte(*in.Reason)
	}
	if in.Data != nil {
		if p.Data, err = hex.DecodeString(*in.Data); err != nil {
			return p, fmt.Errorf("data: %w", err)
		}
	}
	switch {
	case p.Kind != stamp.KindEntity && p.Reliable:
		return p, fmt.Errorf("reliable: %s has no flags, only entity has", p.Kind)
	case p.Kind != stamp.KindEntity && p.Ordered:
		return p, fmt.Errorf("ordered: %s has no flags, only entity has", p.Kind)
	case p.Kind != stamp.KindEntity && len(p.Data) > 0:
		return p, fmt.Errorf("data: %s has none, only entity has", p.Kind)
	case (p.Kind != stamp.KindDisconnect || from != stamp.FromServer) && len(p.Reason) > 0:
		return p, fmt.Errorf("reason: %s of a %s has none, only a server's connect.disconnect has", p.Kind, from)
	case len(p.Reason) > stamp.MaxReason:
		return p, fmt.Errorf("reason: size %d, limit %d", len(p.Reason), stamp.MaxReason)
	}
	return p, nil
}

func stampKind(name string) (stamp.Kind, error) {
	var names []string
	for kind := stamp.KindInit; kind <= stamp.KindEntity; kind++ {
		if kind.String() == name {
			return kind, nil
		}
		names = append(names, kind.String())
	}
	return 0, fmt.Errorf("packet: no packet is named %q; there are %s", name, sentenceList(names, "and"))
}
