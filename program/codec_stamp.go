package program

import (
	"fmt"
	"math"
	"slices"

	stamp "parley/protocol/stamp/core"
)

var stampCodec = newCodec("stamp", &stampTable, parseStamp, stampBytes)

var stampTable = table[stamp.Packet, stamp.Kind]{"packet", func(p *stamp.Packet) *stamp.Kind { return &p.Kind }, stampKinds()}

func stampKinds() map[stamp.Kind]fields[stamp.Packet] {
	type P = stamp.Packet
	head := plainFields[P]("reliable", "ordered", "sequence", "timestamp=Time")
	reason := reasonField(stamp.MaxReason, func(p *P) *[]byte { return &p.Reason }, (*P).ReasonText)
	data := hexField("data", math.MaxInt, func(p *P) *[]byte { return &p.Data })
	return map[stamp.Kind]fields[P]{
		stamp.KindInit:       head,
		stamp.KindAccept:     head,
		stamp.KindDisconnect: slices.Concat(head, reason),
		stamp.KindAck:        head,
		stamp.KindEntity:     slices.Concat(head, data),
	}
}

func parseStamp(p *stamp.Packet, from side, _ string, b []byte) error {
	return p.ParseErr(stamp.Side(from), b)
}

func stampBytes(p *stamp.Packet, from side, _ string) ([]byte, error) {
	switch { // what AppendTo would leave out
	case p.Kind != stamp.KindEntity && p.Reliable:
		return nil, fmt.Errorf("reliable: %s has no flags, only entity has", p.Kind)
	case p.Kind != stamp.KindEntity && p.Ordered:
		return nil, fmt.Errorf("ordered: %s has no flags, only entity has", p.Kind)
	case from == sideClient && len(p.Reason) > 0:
		return nil, fmt.Errorf("reason: %s of a client has none, only a server's has", p.Kind)
	}
	return p.AppendTo(stamp.Side(from), nil), nil
}
