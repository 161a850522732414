package core

import "parley/internal/wire"

// The connection block (section 1.3.1) begins three packets. All numbers are
// little endian.
//
//	 0       1       2               4
//	+-------+-------+---------------+-------+
//	| 0x00  | flags | sequence      | block |
//	+-------+-------+---------------+-------+
//
//	flags bit 0   1: acknowledge this. On an init it asks for nothing
//	      bit 7   init and accept, 1: the sender knows order links and continued messages
//	      others  0
//	block         0x00 init, 0x01 accept, 0x02 reject
//
// connect.init, from a client, is these 5 bytes; sequence is 0.
//
// connect.accept, from a server, is reliable, and sequence is 1:
//
//	 5                       13                      21
//	+-----------------------+-----------------------+-----------+
//	| received, u64 µs      | sent, u64 µs          | sync      |
//	+-----------------------+-----------------------+-----------+ 25
//
//	received      when the init came, by the server's clock
//	sent          when this was sent
//	sync          u32, microseconds from one sync.init to the next
//
// connect.reject, from a server:
//
//	 5       6
//	+-------+----------…
//	| size  | reason
//	+-------+----------…
//
// "Packet size 5 - 231" (section 2.2) lets the size byte be missing: that is read
// as an empty reason. We always write it.
func (p *Packet) readConnect(r *wire.LittleReader, from Side) {
	const block, blockAt = "connection type", 4
	flags := r.U8("flags")
	p.Sequence = r.U16("sequence")
	switch r.U8(block) {
	case 0:
		p.admit(r, KindInit, from, flags, blockAt, block)
		p.Extended = flags&flagHigh != 0
		if p.Sequence != 0 {
			r.Fail(sequenceAt, "sequence", "an init's is always 0")
		}
	case 1:
		p.admit(r, KindAccept, from, flags, blockAt, block)
		p.Extended = flags&flagHigh != 0
		if p.Sequence != 1 {
			r.Fail(sequenceAt, "sequence", "an accept's is always 1")
		}
		p.Received = r.U64("received")
		p.Sent = r.U64("sent")
		p.SyncInterval = r.U32("sync interval")
	case 2:
		p.admit(r, KindReject, from, flags, blockAt, block)
		if r.Len() > 0 {
			p.Reason = r.Bytes("reason", int(r.U8("reason size")), MaxReasonBytes)
		}
	default:
		r.Fail(blockAt, block, "no such connection block")
	}
}

// sequenceAt is the offset of the sequence in each packet with flags.
const sequenceAt = 2

// timeAt is the offset of the time in a message and in a replicate.
const timeAt = 4

func (p *Packet) appendConnect(b []byte) []byte {
	flags := p.flags()
	if p.Extended && p.Kind != KindReject {
		flags |= flagHigh
	}
	b = append(p.appendHead(b, flags), rules[p.Kind].sub)
	switch p.Kind {
	case KindAccept:
		b = little.AppendUint64(b, p.Received)
		b = little.AppendUint64(b, p.Sent)
		b = little.AppendUint32(b, p.SyncInterval)
	case KindReject:
		b = appendText(b, p.Reason)
	}
	return b
}

// A disconnect (section 1.3.2) ends a connection from either side.
//
//	 0       1       2               4       5
//	+-------+-------+---------------+-------+----------…
//	| 0x01  | flags | sequence      | size  | reason
//	+-------+-------+---------------+-------+----------…
//
//	flags bit 0   1: acknowledge this
//	      others  0
//	size          of the reason; 0 from a client, "Packet sent by server
//	              includes an optional reason text" (section 3)
func (p *Packet) readDisconnect(r *wire.LittleReader, from Side) {
	p.admit(r, KindDisconnect, from, r.U8("flags"), 0, "packet type")
	p.Sequence = r.U16("sequence")
	size := r.U8("reason size")
	if size != 0 && from == FromClient {
		r.Fail(4, "reason size", "a client gives no reason")
	}
	p.Reason = r.Bytes("reason", int(size), MaxReasonBytes)
}

func (p *Packet) appendDisconnect(b []byte) []byte {
	return appendText(p.appendHead(b, p.flags()), p.Reason)
}

// ReasonText returns Reason as text that can be shown: each byte that is not UTF-8 is
// replaced. The document gives reasons no encoding, so such a byte does not make the
// packet invalid.
func (p *Packet) ReasonText() string { return string([]rune(string(p.Reason))) }
