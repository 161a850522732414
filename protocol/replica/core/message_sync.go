package core

import "parley/internal/wire"

// The synchronization block (section 1.3.3) has no flags: a lost one is not
// resent.
//
//	 0       1               3
//	+-------+---------------+-------+
//	| 0x02  | sequence      | block |
//	+-------+---------------+-------+
//
//	block         0x00 init, 0x01 ack
//
// sync.init, from a server, is these 4 bytes. sync.ack, from both:
//
//	 4               6                       14
//	+---------------+-----------------------+-----------------------+
//	| acked         | sent, u64 µs          | received, u64 µs      |
//	+---------------+-----------------------+-----------------------+ 22
//
//	acked         the sequence of the sync.init or sync.ack that this answers
//	sent          when this was sent, in server time
//	received      when that came, in server time (an accept has the two the other way round)
func (p *Packet) readSync(r *wire.LittleReader, from Side) {
	const block, blockAt = "sync type", 3
	p.Sequence = r.U16("sequence")
	switch r.U8(block) {
	case 0:
		p.admit(r, KindSyncInit, from, 0, blockAt, block)
	case 1:
		p.admit(r, KindSyncAck, from, 0, blockAt, block)
		p.Acked = r.U16("acknowledged sequence")
		p.Sent = r.U64("sent")
		p.Received = r.U64("received")
	default:
		r.Fail(blockAt, block, "no such synchronization block")
	}
}

func (p *Packet) appendSync(b []byte) []byte {
	b = append(b, uint8(TypeSync), uint8(p.Sequence), uint8(p.Sequence>>8), rules[p.Kind].sub)
	if p.Kind == KindSyncAck {
		b = little.AppendUint16(b, p.Acked)
		b = little.AppendUint64(b, p.Sent)
		b = little.AppendUint64(b, p.Received)
	}
	return b
}

// An ack (section 1.3.4) says that one reliable packet came. It has neither flags
// nor a sequence of its own.
//
//	 0       1
//	+-------+---------------+
//	| 0x03  | acked         |
//	+-------+---------------+ 3
func (p *Packet) readAck(r *wire.LittleReader, from Side) {
	p.admit(r, KindAck, from, 0, 0, "packet type")
	p.Acked = r.U16("acknowledged sequence")
}

func (p *Packet) appendAck(b []byte) []byte { return appendAck(b, p.Acked) }

// appendAck appends an ack without the labour of a Packet, as there is one for each message.
func appendAck(b []byte, acked uint16) []byte {
	return append(b, uint8(TypeAck), uint8(acked), uint8(acked>>8))
}
