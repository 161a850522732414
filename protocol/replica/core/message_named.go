package core

import (
	"unicode/utf8"

	"parley/internal/wire"
)

// A message (section 1.3.7) carries named bytes of the application, from both.
//
//	 0       1       2               4                       12
//	+-------+-------+---------------+-----------------------+-------+
//	| 0x06  | flags | sequence      | time, u64 µs          | size  |
//	+-------+-------+---------------+-----------------------+-------+
//	 13           13+n            15+n
//	+--…---------+---------------+----------…
//	| name       | size, u16     | data
//	+--…---------+---------------+----------…
//
//	flags bit 0   1: acknowledge this
//	      bit 1   1: deliver in the order of messages; needs bit 0
//	      2 to 6  of an ordered one: how many numbers back the one before it is, or 0
//	      bit 7   of an ordered one, 1: the next ordered message continues this
//	time          server time when this was sent
//
// The size of the name is printed as 1 byte and as a ushort; the byte count and
// the maximum of 255 agree on one byte.
func (p *Packet) readMessage(r *wire.LittleReader, from Side) {
	flags := r.U8("flags")
	p.admit(r, KindMessage, from, flags, 0, "packet type")
	p.OrderLink = flags & flagsOrderLink >> orderLinkShift
	p.More = flags&flagHigh != 0
	p.Sequence = r.U16("sequence")
	p.Time = r.U64("timestamp")
	p.Name = r.Text("name", int(r.U8("name size")), MaxNameBytes)
	p.Data = r.Bytes("data", int(r.U16("data size")), MaxDataBytes)
}

// Where the parts of a message are.
const (
	messageNameSizeAt = 12
	messageNameAt     = 13
)

// plainMessage reports whether b is a message that Parse takes, from either side: what is to
// be known before reread, of the one packet that comes by the hundred thousand. What it
// does not take is Parse's to judge.
func plainMessage(b []byte) bool {
	if len(b) < messageOverhead || typeOf(b) != TypeMessage || !rules[KindMessage].allows(flagsOf(b)) {
		return false
	}
	end := messageNameAt + int(wire.U8At(b, messageNameSizeAt))
	return len(b) >= end+2 && len(b) == end+2+int(wire.LittleU16At(b, end)) && utf8.Valid(wire.BytesAt(b, messageNameAt, end))
}

// reread reads a message that Parse or plainMessage took before, and so checks nothing.
func (p *Packet) reread(b []byte) {
	flags := flagsOf(b)
	p.Kind = KindMessage
	p.Reliable, p.Ordered, p.More = flags&flagReliable != 0, flags&flagOrdered != 0, flags&flagHigh != 0
	p.OrderLink = flags & flagsOrderLink >> orderLinkShift
	p.Sequence, p.Time = sequenceOf(b), timeOf(b)
	p.Name, p.Data = rereadNamed(b)
}

// rereadNamed is reread of the name and the data alone.
func rereadNamed(b []byte) (name, data []byte) {
	end := messageNameAt + int(wire.U8At(b, messageNameSizeAt))
	return wire.BytesAt(b, messageNameAt, end), wire.BytesAt(b, end+2, len(b))
}

// The head of a packet.
func typeOf(b []byte) Type       { return Type(wire.U8At(b, 0)) }
func flagsOf(b []byte) uint8     { return wire.U8At(b, flagsAt) }
func sequenceOf(b []byte) uint16 { return wire.LittleU16At(b, sequenceAt) }
func timeOf(b []byte) uint64     { return wire.LittleU64At(b, timeAt) }

func (p *Packet) appendMessage(b []byte) []byte {
	flags := p.flags() | p.orderLink()
	if p.More {
		flags |= flagHigh
	}
	b = p.appendHead(b, flags)
	b = little.AppendUint64(b, p.Time)
	b = appendText(b, p.Name)
	if len(p.Data) > MaxDataBytes {
		panic("replica: the data of one message packet has 65,535 bytes at most")
	}
	b = little.AppendUint16(b, uint16(len(p.Data)))
	return append(b, p.Data...)
}

// writeNamed writes a message as appendMessage does into b, which has its size, from a name that is a string: the application's,
// which so need not be copied first.
func writeNamed(b []byte, flags uint8, sequence uint16, time uint64, name string, data []byte) {
	b[0], b[flagsAt] = uint8(TypeMessage), flags
	little.PutUint16(b[sequenceAt:], sequence)
	little.PutUint64(b[timeAt:], time)
	b[messageNameSizeAt] = uint8(len(name))
	end := messageNameAt + copy(b[messageNameAt:], name)
	little.PutUint16(b[end:], uint16(len(data)))
	copy(b[end+2:], data)
}
