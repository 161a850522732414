package core

import (
	"encoding/binary"

	"parley/internal/wire"
)

// The values of the type byte, and of the byte behind the header of a connection packet.
const (
	typeConnection = 0x00
	typeAck        = 0x01
	typeEntity     = 0x02

	connectInit       = 0x00
	connectAccept     = 0x01
	connectDisconnect = 0x02
)

// The flags of an entity packet.
const (
	flagReliable = 1 << 0
	flagOrdered  = 1 << 1
)

// Where the fields start that may be refused for what they mean.
const (
	atType        = 0
	atFlags       = 1
	atSequence    = 2
	atConnectType = HeaderBytes
	atReasonSize  = HeaderBytes + 1
)

// senders are the sides that may send a packet, and what to say when another does: for
// what both may send that can only be a Side that is unset.
var senders = [...]struct {
	sides Side
	why   string
}{
	KindInit:       {FromClient, "only a client asks for a connection"},
	KindAccept:     {FromServer, "only a server accepts"},
	KindDisconnect: {FromClient | FromServer, "the sender is unset"},
	KindAck:        {FromClient | FromServer, "the sender is unset"},
	KindEntity:     {FromServer, "only a server sends entities"},
}

// Parse reads b as exactly one packet that the side from sent, and reports whether it is
// valid. If not, Kind is unset and the other fields are meaningless. Reason and Data share
// the memory of b: copy what must outlive it.
func (p *Packet) Parse(from Side, b []byte) bool {
	r := wire.Little(b)
	return p.read(from, &r)
}

// ParseErr is Parse with an error: nil, or a *wire.Error that names the wrong field and its
// offset. It is for tools and logs, as the error is allocated.
func (p *Packet) ParseErr(from Side, b []byte) error {
	r := wire.Little(b)
	p.read(from, &r)
	return r.Err()
}

func (p *Packet) read(from Side, r *wire.LittleReader) bool {
	p.readAll(from, r)
	if !r.Done() {
		p.Kind = 0
		return false
	}
	return true
}

func (p *Packet) readAll(from Side, r *wire.LittleReader) {
	*p = Packet{}
	kind, flags := r.U8("packet type"), r.U8("flags")
	p.Sequence, p.Time = r.U16("sequence"), r.U64("timestamp")
	switch kind {
	case typeEntity:
		p.readEntity(flags, r)
	case typeAck:
		p.Kind = KindAck
	case typeConnection:
		p.readConnection(from, r)
		return // which has looked at the sender itself: its kind is not in the type byte
	default:
		r.Fail(atType, "packet type", "no such type")
		return
	}
	p.checkSender(from, r, atType, "packet type")
}

// readEntity reads what the document leaves empty: the rest of the datagram.
func (p *Packet) readEntity(flags uint8, r *wire.LittleReader) {
	p.Kind = KindEntity
	p.Reliable, p.Ordered = flags&flagReliable != 0, flags&flagOrdered != 0
	if flags&^(flagReliable|flagOrdered) != 0 {
		r.Fail(atFlags, "flags", "a bit above bit 1 is set")
	}
	// "Value of bit 0 cannot be 0 in combination with this value." (Header flags)
	if p.Ordered && !p.Reliable {
		r.Fail(atFlags, "flags", "ordered but not reliable")
	}
	p.Data = r.Rest("data", MaxData)
}

// readConnection is not given the flags: "Header flags are ignored for Connection
// message and Acknowledgement message." (Header block)
func (p *Packet) readConnection(from Side, r *wire.LittleReader) {
	switch r.U8("connection type") {
	case connectInit:
		// "Sequence should always be 0." (Initialization block)
		if p.Kind = KindInit; p.Sequence != 0 {
			r.Fail(atSequence, "sequence", "that of an init is 0")
		}
	case connectAccept:
		// "Sequence should always be 1." (Accepting block)
		if p.Kind = KindAccept; p.Sequence != 1 {
			r.Fail(atSequence, "sequence", "that of an accept is 1")
		}
	case connectDisconnect:
		p.Kind = KindDisconnect
		p.readReason(from, r)
	default:
		r.Fail(atConnectType, "connection type", "no such type")
		return
	}
	p.checkSender(from, r, atConnectType, "connection type")
}

// checkSender refuses the field at offset at, which says what packet it is.
func (p *Packet) checkSender(from Side, r *wire.LittleReader, at int, field string) {
	if s := &senders[p.Kind]; s.sides&from == 0 {
		r.Fail(at, field, s.why)
	}
}

// readReason obeys "This block is empty for disconnections sent by clients." (Disconnect
// block): there is not even a size.
func (p *Packet) readReason(from Side, r *wire.LittleReader) {
	if from == FromServer {
		p.Reason = r.Bytes("reason", int(r.U8("reason size")), MaxReason)
	} else if r.Len() > 0 {
		r.Fail(atReasonSize, "reason size", "a client gives no reason")
	}
}

// AppendTo appends the packet as the side from sends it. Fields that such a packet does not
// have are left out. AppendTo does not check the others: with a wrong sender, sequence or
// flags, or a reason or data over its limit, it writes bytes that Parse refuses. It never
// writes those of another packet. It panics if p.Kind is unset.
func (p *Packet) AppendTo(from Side, b []byte) []byte {
	switch p.Kind {
	case KindEntity:
		return append(p.appendHeader(b, typeEntity, p.flags()), p.Data...)
	case KindAck:
		return p.appendHeader(b, typeAck, 0)
	case KindInit:
		return append(p.appendHeader(b, typeConnection, 0), connectInit)
	case KindAccept:
		return append(p.appendHeader(b, typeConnection, 0), connectAccept)
	case KindDisconnect:
		b = append(p.appendHeader(b, typeConnection, 0), connectDisconnect)
		if from == FromServer {
			b = append(b, byte(len(p.Reason)))
			b = append(b, p.Reason...)
		}
		return b
	}
	panic("stamp: AppendTo of a packet without a kind")
}

func (p *Packet) flags() (flags uint8) {
	if p.Reliable {
		flags |= flagReliable
	}
	if p.Ordered {
		flags |= flagOrdered
	}
	return flags
}

func (p *Packet) appendHeader(b []byte, kind, flags uint8) []byte {
	b = append(b, kind, flags)
	b = binary.LittleEndian.AppendUint16(b, p.Sequence)
	return binary.LittleEndian.AppendUint64(b, p.Time)
}
