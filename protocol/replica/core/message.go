package core

import (
	"strconv"

	"parley/internal/wire"
)

// Type is the first byte of a packet (section 1.1 of the document).
type Type uint8

// The packet types.
const (
	TypeConnect    Type = 0x00
	TypeDisconnect Type = 0x01
	TypeSync       Type = 0x02
	TypeAck        Type = 0x03
	TypeLink       Type = 0x04
	TypeReplicate  Type = 0x05
	TypeMessage    Type = 0x06

	// These two are ours, and for peers that have agreed on them.
	TypeBundle Type = 0x07
	TypeAckRun Type = 0x08
)

var typeNames = [...]string{"connect", "disconnect", "sync", "ack", "link", "replicate", "message", "bundle", "ack.run"}

// String returns the name of the type, a short form of the document's where it has one.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type " + strconv.Itoa(int(t))
}

// Side is the end of a connection that sent a packet. Some packets are valid from one end
// only, and only a server's disconnect may carry a reason.
type Side = wire.Side

// The two sides. The zero Side is unset, and no packet from it is valid.
const (
	FromClient = wire.FromClient
	FromServer = wire.FromServer

	fromBoth = FromClient | FromServer
)

// Kind is one of the fifteen packets: a type and, where the type has several blocks, a
// block.
type Kind uint8

// The packets. The zero Kind is unset: Parse leaves it when it refuses a packet.
const (
	KindInit Kind = iota + 1
	KindAccept
	KindReject
	KindDisconnect
	KindSyncInit
	KindSyncAck
	KindAck
	KindLinkInit
	KindLinkTable
	KindLinkAccept
	KindLinkReject
	KindReplicate
	KindMessage
	KindBundle
	KindAckRun
)

// String returns the name that decode prints.
func (k Kind) String() string {
	if k != 0 && int(k) < len(rules) {
		return rules[k].name
	}
	return "kind " + strconv.Itoa(int(k))
}

// Type returns the packet type of the kind.
func (k Kind) Type() Type { return rules[k].typ }

// Bits of the flags byte (section 1.2). Bits 2 to 7 are not the document's: they
// are ours, and a peer that is not ours leaves them 0.
const (
	flagReliable   = 1 << 0 // 1: the receiver acknowledges the packet. 0: it does not
	flagOrdered    = 1 << 1 // 1: handled in the order of its kind, needs bit 0. 0: handled as it comes
	flagsOrderLink = 31 << orderLinkShift
	flagHigh       = 1 << 7 // on init and accept 1: the sender knows bits 2 to 7. On a message 1: the next one continues it

	orderLinkShift = 2
)

// rule is what may be said of a packet before its fields are read.
type rule struct {
	name      string
	typ       Type
	sub       uint8 // the block type, where the type has several
	from      Side
	must, may uint8 // flag bits that are always 1, and those that may be 1
}

const linkFlags = flagReliable | flagOrdered

// rules has a line for each Kind. In the words of the document: "Reliable flag
// [of an accept] is always 1", "Reliable and Ordered flags [of linking] are
// always 1", "Ordered flag [of a replication] is always 0"; "Ordered packets are
// supported for message packets, but always used for linking packets", so for
// no others.
var rules = [...]rule{
	KindInit:       {"connect.init", TypeConnect, 0, FromClient, 0, flagReliable | flagHigh},
	KindAccept:     {"connect.accept", TypeConnect, 1, FromServer, flagReliable, flagReliable | flagHigh},
	KindReject:     {"connect.reject", TypeConnect, 2, FromServer, 0, flagReliable},
	KindDisconnect: {"disconnect", TypeDisconnect, 0, fromBoth, 0, flagReliable},
	KindSyncInit:   {"sync.init", TypeSync, 0, FromServer, 0, 0},
	KindSyncAck:    {"sync.ack", TypeSync, 1, fromBoth, 0, 0},
	KindAck:        {"ack", TypeAck, 0, fromBoth, 0, 0},
	KindLinkInit:   {"link.init", TypeLink, 0, FromClient, linkFlags, linkFlags | flagsOrderLink},
	KindLinkTable:  {"link.table", TypeLink, 1, FromServer, linkFlags, linkFlags | flagsOrderLink},
	KindLinkAccept: {"link.accept", TypeLink, 2, FromClient, linkFlags, linkFlags | flagsOrderLink},
	KindLinkReject: {"link.reject", TypeLink, 3, FromClient, linkFlags, linkFlags | flagsOrderLink},
	KindReplicate:  {"replicate", TypeReplicate, 0, FromServer, 0, flagReliable},
	KindMessage:    {"message", TypeMessage, 0, fromBoth, 0, 0xff},
	KindBundle:     {"bundle", TypeBundle, 0, fromBoth, 0, 0},
	KindAckRun:     {"ack.run", TypeAckRun, 0, fromBoth, 0, 0},
}

// Packet is one packet of any kind. Kind decides which of the other fields are used. Unused
// fields are zero after Parse, and AppendTo ignores them.
//
// Reason, Name, Data, Table, Values and Bundle of a parsed packet share the memory of the parsed
// bytes: copy what must outlive them.
type Packet struct {
	Kind Kind

	// Reliable and Ordered are for all packets but sync, ack, ack.run and bundle.
	Reliable, Ordered bool

	// More is for an ordered message: the next packet of the message order continues this
	// one.
	More bool

	// Extended is for init and accept: the sender uses parley's extension, and knows OrderLink
	// and More.
	Extended bool

	// OrderLink is for link packets and ordered messages: how many numbers back the
	// previous packet of the same order is, 1 to 31, or 0 if there is none to wait for.
	OrderLink uint8

	Sequence uint16 // all but ack, ack.run and bundle, which have none
	Acked    uint16 // ack, sync.ack: the sequence that is acknowledged; ack.run: the first
	Count    uint16 // ack.run: how many are acknowledged

	SyncInterval uint32 // accept: microseconds between two sync.init
	Received     uint64 // accept, sync.ack: when the sender received the packet that it answers
	Sent         uint64 // accept, sync.ack: when the sender sent this packet
	Time         uint64 // replicate, message: when the sender sent this packet

	Reason []byte // reject, disconnect: as sent, perhaps not UTF-8; see ReasonText
	Name   []byte // message: UTF-8
	Data   []byte // message

	Table  Table       // link.table
	Values Replication // replicate
	Bundle Bundle      // bundle
}
