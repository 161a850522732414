package core

import (
	"iter"

	"parley/internal/wire"
)

// An ack.run says that several reliable packets came, whose numbers follow each other. It is ours, not the document's.
//
//	 0       1               3
//	+-------+---------------+---------------+
//	| 0x08  | first         | count, u16    |
//	+-------+---------------+---------------+ 5
//
//	count         1 to 1,024
func (p *Packet) readAckRun(r *wire.LittleReader, from Side) {
	p.admit(r, KindAckRun, from, 0, 0, "packet type")
	p.Acked = r.U16("first sequence")
	at := r.Offset()
	if p.Count = r.U16("count"); p.Count == 0 || p.Count > MaxAcked {
		r.Fail(at, "count", "a run has 1 to 1,024 numbers")
	}
}

func (p *Packet) appendAckRun(b []byte) []byte { return appendAckRun(b, p.Acked, p.Count) }

// appendAckRun appends an ack.run without the labour of a Packet.
func appendAckRun(b []byte, first, count uint16) []byte {
	return append(b, uint8(TypeAckRun), uint8(first), uint8(first>>8), uint8(count), uint8(count>>8))
}

// Bundle is the body of a bundle: several packets in a datagram, each whole and as it would be alone. It is ours, not the
// document's. Parse checks all of it, and then it is walked in place. The zero Bundle is empty, which no packet may be: Add
// makes one.
//
//	 0       1
//	+-------+---------------+---------…-----+---------------+------…
//	| 0x07  | size, u16     | packet        | size, u16     | packet
//	+-------+---------------+---------…-----+---------------+------…
//
//	size          of the packet that follows, at least 3
//
// There are 1 to 64 packets, and none of them is a bundle, a connect packet or a disconnect: what begins or ends a
// connection is alone in its datagram.
type Bundle struct {
	body []byte // what follows the packet type
}

func (p *Packet) readBundle(r *wire.LittleReader, from Side) {
	p.admit(r, KindBundle, from, 0, 0, "packet type")
	p.Bundle.body = restOf(r)
	acked := 0
	for i := 0; i == 0 || r.Len() > 0; i++ {
		if i == MaxBundled {
			r.Fail(r.Offset(), "packets", "a bundle has 64 packets at most")
			return
		}
		acked += readBundled(r, from)
		if acked > MaxAcked {
			r.Fail(r.Offset(), "packets", "a bundle acknowledges 1,024 numbers at most")
			return
		}
		if !r.In("packets", i) {
			return
		}
	}
}

// readBundled reads one packet of a bundle, checks it whole, and returns how many numbers it acknowledges.
func readBundled(r *wire.LittleReader, from Side) (acked int) {
	at := r.Offset()
	size := int(r.U16("packet size"))
	if size < minBundledBytes {
		r.Fail(at, "packet size", "no packet is that small")
	}
	b := r.Bytes("packet", size, size)
	if len(b) == 0 || plainMessage(b) {
		return 0
	}
	switch typeOf(b) {
	case TypeBundle:
		r.Fail(at+bundledHead, "packet type", "a bundle in a bundle")
	case TypeConnect, TypeDisconnect:
		r.Fail(at+bundledHead, "packet type", "what begins or ends a connection is in no bundle")
	default:
		var p Packet
		inner := wire.Little(b)
		p.read(&inner, from)
		inner.Done()
		r.Within(&inner.Reader)
		switch p.Kind {
		case KindAck:
			return 1
		case KindAckRun:
			return int(p.Count)
		}
	}
	return 0
}

func (p *Packet) appendBundle(b []byte) []byte {
	return append(append(b, uint8(TypeBundle)), p.Bundle.body...)
}

// Packets yields the bytes of each packet, in the order of the bundle. They share the memory of the parsed bytes.
func (b Bundle) Packets() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := b.body; len(rest) > 0; {
			var packet []byte
			if packet, rest = cutBundled(rest); !yield(packet) {
				return
			}
		}
	}
}

// cutBundled returns the first packet of a body that was checked, and what follows it.
func cutBundled(body []byte) (packet, rest []byte) {
	end := bundledHead + int(wire.LittleU16At(body, 0))
	return wire.BytesAt(body, bundledHead, end), wire.BytesAt(body, end, len(body))
}

// Add appends a packet. It does not check the packet: the caller must avoid what a bundle may not hold. It panics if the
// packet is longer than its size can say.
func (b *Bundle) Add(packet []byte) {
	if len(packet) > MaxBundledBytes {
		panic("replica: a packet in a bundle has 65,535 bytes at most")
	}
	b.body = append(little.AppendUint16(b.body, uint16(len(packet))), packet...)
}
