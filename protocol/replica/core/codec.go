package core

import (
	"encoding/binary"

	"parley/internal/wire"
)

// Parse reads the packet that fills all of b and came from a peer on the side from. It
// returns false if b is not exactly one packet that this side may send. Then Kind is 0
// and the other fields are meaningless. It allocates nothing, and its fields share the
// memory of b: copy what must outlive it.
func (p *Packet) Parse(from Side, b []byte) bool {
	r := wire.Little(b)
	p.read(&r, from)
	if !r.Done() {
		p.Kind = 0
		return false
	}
	return true
}

// ParseErr is Parse with an error: a *wire.Error with the field and its offset. It is for
// tools and logs, as the error is allocated.
func (p *Packet) ParseErr(from Side, b []byte) error {
	r := wire.Little(b)
	p.read(&r, from)
	if !r.Done() {
		p.Kind = 0
	}
	return r.Err()
}

func (p *Packet) read(r *wire.LittleReader, from Side) {
	*p = Packet{}
	switch Type(r.U8("packet type")) {
	case TypeConnect:
		p.readConnect(r, from)
	case TypeDisconnect:
		p.readDisconnect(r, from)
	case TypeSync:
		p.readSync(r, from)
	case TypeAck:
		p.readAck(r, from)
	case TypeLink:
		p.readLink(r, from)
	case TypeReplicate:
		p.readReplicate(r, from)
	case TypeMessage:
		p.readMessage(r, from)
	case TypeBundle:
		p.readBundle(r, from)
	case TypeAckRun:
		p.readAckRun(r, from)
	default:
		r.Fail(0, "packet type", "no such packet type")
	}
}

// admit settles that the packet is a k, named by the field at offset at: it
// holds the sender and the flags, which came before, against the rules of k.
func (p *Packet) admit(r *wire.LittleReader, k Kind, from Side, flags uint8, at int, field string) {
	rule := &rules[k]
	if from&rule.from == 0 {
		r.Fail(at, field, wrongSide(rule.from))
		return
	}
	if !rule.allows(flags) {
		r.Fail(flagsAt, "flags", rule.fault(flags))
		return
	}
	p.Kind = k
	p.Reliable = flags&flagReliable != 0
	p.Ordered = flags&flagOrdered != 0
}

// flagsAt is the offset of the flags in each packet that has them.
const flagsAt = 1

// needOrder are the flag bits that say something of an order. On packets that
// can have no order bit 7 is another bit.
const needOrder = flagsOrderLink | flagHigh

func (r *rule) allows(flags uint8) bool {
	if flags&^r.may != 0 || flags&r.must != r.must {
		return false
	}
	// "Value of bit 0 cannot be 0 in combination with this value", which is
	// ordered (section 1.2).
	return r.may&flagOrdered == 0 || flags&flagOrdered == 0 && flags&needOrder == 0 || flags&linkFlags == linkFlags
}

// fault says why flags are not allowed.
func (r *rule) fault(flags uint8) string {
	switch {
	case r.must == linkFlags && flags&linkFlags != linkFlags:
		return "linking is always reliable and ordered"
	case flags&r.must != r.must:
		return "an accept is always reliable"
	case flags&linkFlags == flagOrdered:
		return "ordered but not reliable"
	case flags&^r.may&flagOrdered != 0:
		return "this packet is never ordered"
	case flags&flagsOrderLink != 0 && flags&flagOrdered == 0:
		return "an order link (bits 2 to 6) without an order"
	default:
		return "bit 7 says nothing in this packet"
	}
}

func wrongSide(right Side) string {
	if right == FromServer {
		return "only a server sends this packet"
	}
	return "only a client sends this packet"
}

// AppendTo appends the bytes of p to b. It does not check p: the caller must avoid flags,
// sequences and sides that a peer would refuse. It panics if p does not fit its layout:
// an unset Kind, or a text, data or order link over its limit.
func (p *Packet) AppendTo(b []byte) []byte {
	switch p.Kind {
	case KindInit, KindAccept, KindReject:
		return p.appendConnect(b)
	case KindDisconnect:
		return p.appendDisconnect(b)
	case KindSyncInit, KindSyncAck:
		return p.appendSync(b)
	case KindAck:
		return p.appendAck(b)
	case KindLinkInit, KindLinkAccept, KindLinkReject, KindLinkTable:
		return p.appendLink(b)
	case KindReplicate:
		return p.appendReplicate(b)
	case KindMessage:
		return p.appendMessage(b)
	case KindBundle:
		return p.appendBundle(b)
	case KindAckRun:
		return p.appendAckRun(b)
	}
	panic("replica: a packet of no kind cannot be written")
}

// flags returns the two bits of the document as they are written.
func (p *Packet) flags() (flags uint8) {
	if p.Reliable {
		flags |= flagReliable
	}
	if p.Ordered {
		flags |= flagOrdered
	}
	return flags
}

// orderLink returns flag bits 2 to 6 as they are written.
func (p *Packet) orderLink() uint8 {
	if p.OrderLink > MaxOrderLink {
		panic("replica: an order link reaches 31 numbers back at most")
	}
	return p.OrderLink << orderLinkShift
}

// appendHead appends what most packets begin with: type, flags, sequence.
func (p *Packet) appendHead(b []byte, flags uint8) []byte {
	return append(b, uint8(p.Kind.Type()), flags, uint8(p.Sequence), uint8(p.Sequence>>8))
}

// appendText appends a size of one byte and the text.
func appendText[T string | []byte](b []byte, text T) []byte {
	if len(text) > MaxNameBytes {
		panic("replica: a name or reason has 255 bytes at most")
	}
	b = append(b, uint8(len(text)))
	return append(b, text...)
}

var little = binary.LittleEndian
