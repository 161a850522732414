package core

import (
	"bytes"
	"math/rand/v2"

	"parley/internal/kit"
)

// A shape is one of the layouts that a packet can have: its kind and who sends it.
type shape struct {
	name string
	kind Kind
	from Side
}

var shapes = []shape{
	{"init", KindInit, FromClient},
	{"accept", KindAccept, FromServer},
	{"a server's disconnect", KindDisconnect, FromServer},
	{"a client's disconnect", KindDisconnect, FromClient},
	{"a client's ack", KindAck, FromClient},
	{"a server's ack", KindAck, FromServer},
	{"entity", KindEntity, FromServer},
}

// other is the side that did not send the packet.
func (s shape) other() Side { return FromClient + FromServer - s.from }

// noise is where random reasons and data are cut from, so that making a packet costs
// little more than reading one.
var noise = kit.Noise[:]

// randomBytes returns up to max bytes: most often few, now and then none or as many as
// may be.
func randomBytes(r *rand.Rand, max int) []byte {
	n := r.IntN(min(max, 64) + 1)
	switch r.IntN(32) {
	case 0:
		n = max
	case 1:
		n = r.IntN(max + 1)
	case 2:
		n = 0
	}
	at := r.IntN(len(noise) - n)
	return noise[at : at+n]
}

// random makes p a packet of the shape.
func (s shape) random(r *rand.Rand, p *Packet) {
	*p = Packet{Kind: s.kind, Sequence: uint16(r.Uint32()), Time: r.Uint64()}
	switch {
	case s.kind == KindInit:
		p.Sequence = 0
	case s.kind == KindAccept:
		p.Sequence = 1
	case s.kind == KindDisconnect && s.from == FromServer:
		p.Reason = randomBytes(r, 255)
	case s.kind == KindEntity:
		p.Data = randomBytes(r, 1188)
		p.Reliable = r.IntN(2) == 0
		p.Ordered = p.Reliable && r.IntN(2) == 0
	}
}

func same(a, b *Packet) bool {
	return a.Kind == b.Kind && a.Reliable == b.Reliable && a.Ordered == b.Ordered && a.Sequence == b.Sequence &&
		a.Time == b.Time && bytes.Equal(a.Reason, b.Reason) && bytes.Equal(a.Data, b.Data)
}

// oracle is Parse written another way: it asks which of the shapes a datagram has, as a
// whole, and takes the fields by index. The numbers are those of the protocol's page and
// not the code's constants.
func oracle(from Side, b []byte, p *Packet) bool {
	if *p = (Packet{}); len(b) < 12 {
		return false
	}
	p.Sequence = uint16(b[2]) + uint16(b[3])<<8
	for i, v := range b[4:12] {
		p.Time += uint64(v) << (8 * i)
	}
	client, server := from == FromClient, from == FromServer
	connection, ack, entity, body := b[0] == 0, b[0] == 1, b[0] == 2, b[12:]
	starts := func(v byte) bool { return connection && len(body) > 0 && body[0] == v }
	switch {
	case starts(0) && client && len(body) == 1 && p.Sequence == 0:
		p.Kind = KindInit
	case starts(1) && server && len(body) == 1 && p.Sequence == 1:
		p.Kind = KindAccept
	case starts(2) && client && len(body) == 1:
		p.Kind = KindDisconnect
	case starts(2) && server && len(body) >= 2 && len(body) == 2+int(body[1]):
		p.Kind, p.Reason = KindDisconnect, body[2:]
	case ack && (client || server) && len(body) == 0:
		p.Kind = KindAck
	case entity && server && len(body) <= 1188 && (b[1] == 0 || b[1] == 1 || b[1] == 3):
		p.Kind, p.Data, p.Reliable, p.Ordered = KindEntity, body, b[1] != 0, b[1] == 3
	default:
		return false
	}
	return true
}

// canonical clears in b, a packet that is accepted, the flags that are ignored.
func canonical(b []byte) {
	if b[0] != 2 {
		b[1] = 0
	}
}

// oracleRecords splits data into records, by index.
func oracleRecords(data []byte, records []Record) ([]Record, bool) {
	for records = records[:0]; len(data) > 0; {
		if len(data) < 4 || len(data) < 4+int(data[3]) {
			return records, false
		}
		n := 4 + int(data[3])
		records = append(records, Record{uint16(data[0]) + uint16(data[1])<<8, data[2], data[4:n]})
		data = data[n:]
	}
	return records, true
}
