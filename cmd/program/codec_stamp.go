package program

import (
	"fmt"
	"math"
	"slices"

	stamp "parley/protocol/stamp/core"
)

// stampCodec joins the dialect stamp to decode and encode.
var stampCodec = Codec{Name: "stamp", Decode: decodeStamp, Encode: encodeStamp}

var stampSides = map[Side]stamp.Side{SideClient: stamp.FromClient, SideServer: stamp.FromServer}

var stampTable = table[stamp.Packet, stamp.Kind]{"packet", func(p *stamp.Packet) *stamp.Kind { return &p.Kind }, stampKinds()}

func stampKinds() map[stamp.Kind][]field[stamp.Packet] {
	type P = stamp.Packet
	head := []field[P]{
		plainField("reliable", func(p *P) *bool { return &p.Reliable }),
		plainField("ordered", func(p *P) *bool { return &p.Ordered }),
		plainField("sequence", func(p *P) *uint16 { return &p.Sequence }),
		plainField("timestamp", func(p *P) *uint64 { return &p.Time }),
	}
	reason := textField("reason", stamp.MaxReason, func(p *P) *[]byte { return &p.Reason })
	reason.show = func(p *P) any { return p.ReasonText() }
	data := hexField("data", math.MaxInt, func(p *P) *[]byte { return &p.Data })
	return map[stamp.Kind][]field[P]{
		stamp.KindInit:       head,
		stamp.KindAccept:     head,
		stamp.KindDisconnect: slices.Concat(head, []field[P]{reason}),
		stamp.KindAck:        head,
		stamp.KindEntity:     slices.Concat(head, []field[P]{data}),
	}
}

func decodeStamp(from Side, _ string, b []byte) (any, error) {
	var p stamp.Packet
	if err := p.ParseErr(stampSides[from], b); err != nil {
		return nil, err
	}
	return stampTable.show(&p), nil
}

func encodeStamp(from Side, _ string, line []byte) ([]byte, error) {
	var p stamp.Packet
	if err := stampTable.take(&p, line); err != nil {
		return nil, err
	}
	switch { // what AppendTo would leave out
	case p.Kind != stamp.KindEntity && p.Reliable:
		return nil, fmt.Errorf("reliable: %s has no flags, only entity has", p.Kind)
	case p.Kind != stamp.KindEntity && p.Ordered:
		return nil, fmt.Errorf("ordered: %s has no flags, only entity has", p.Kind)
	case from == SideClient && len(p.Reason) > 0:
		return nil, fmt.Errorf("reason: %s of a client has none, only a server's has", p.Kind)
	}
	b := p.AppendTo(stampSides[from], nil)
	// What is left to be wrong is wrong in the bytes too, and Parse has words for it.
	return b, p.ParseErr(stampSides[from], b)
}
