package core

import "parley/internal/wire"

// A Side is the end of a connection that sent a packet. Of the five packets, two are sent
// only by a server, one only by a client, and one has a different layout from each.
type Side = wire.Side

// The two sides. The zero Side is unset, and no packet from it is accepted. The values are
// bits, so that the senders of a packet are a set (see senders in codec.go).
const (
	FromClient = wire.FromClient
	FromServer = wire.FromServer
)

// A Kind is one of the five packets. The zero Kind is unset.
type Kind uint8

// The packets, with their senders.
const (
	KindInit       Kind = iota + 1 // client: asks for a connection
	KindAccept                     // server: grants it
	KindDisconnect                 // both: ends it; as an answer to an init it is a rejection
	KindAck                        // both: acknowledges the packet whose number it carries
	KindEntity                     // server: the game's data
)

var kindNames = [...]string{
	"unset",
	KindInit:       "connect.init",
	KindAccept:     "connect.accept",
	KindDisconnect: "connect.disconnect",
	KindAck:        "ack",
	KindEntity:     "entity",
}

// String returns the packet's name in the document.
func (k Kind) String() string { return wire.NameOf(k, kindNames[:]) }

// Packet is one datagram of either side. Each begins with a header of 12 bytes;
// numbers are little endian:
//
//	 0      1       2              4                             12
//	+------+-------+--------------+-----------------------------+
//	| type | flags | sequence u16 | timestamp u64, microseconds |
//	+------+-------+--------------+-----------------------------+
//
//	flags of an entity packet         bit clear                 bit set
//	  bit 0                           unreliable, no ack        reliable: wants an ack
//	  bit 1                           handled as it comes       ordered, never without bit 0
//	  bits 2 to 7                     as they must be           refused
//	flags of all other packets: sent as 0; whatever comes reads as neither
//
//	            type   after the header, from offset 12
//	                  +------+
//	init        0x00  | 0x00 |                        sequence 0
//	                  +------+
//	accept      0x00  | 0x01 |                        sequence 1
//	                  +------+---------+------------+
//	disconnect  0x00  | 0x02 | size u8 | reason     | from a server
//	                  +------+---------+------------+
//	disconnect  0x00  | 0x02 |                        from a client
//	                  +------+
//	ack         0x01    nothing                       sequence: the acknowledged one
//	                  +-----------------------------+
//	entity      0x02  | data, to the end, 0 to 1188 |
//	                  +-----------------------------+
//
// A packet has one encoding, except for flags that are ignored.
type Packet struct {
	Kind Kind

	// Reliable and Ordered are the flags of an entity packet. On all others they are false
	// after Parse, and AppendTo leaves them out.
	Reliable, Ordered bool

	// Sequence is the number of the packet among those of its sender. An ack has no number
	// of its own: it carries the number that it acknowledges.
	Sequence uint16

	// Time is the sender's clock in microseconds, in server time.
	Time uint64

	// Reason is the reason of a server's disconnect, up to MaxReason bytes. It should be
	// UTF-8 but need not be: see ReasonText. All other packets have none.
	Reason []byte

	// Data is the data of an entity packet, up to MaxData bytes. It may be empty. All other
	// packets have none.
	Data []byte
}

// ReasonText returns the reason as UTF-8, with U+FFFD for each invalid byte. It allocates.
func (p *Packet) ReasonText() string {
	// Ranging over a string, as the conversion to runes does, takes bad bytes one by one.
	return string([]rune(string(p.Reason)))
}

// Record is the part of an entity packet for one entity. The data of a packet is a sequence
// of records, with nothing between or after them:
//
//	 0            2         3         4
//	+------------+---------+---------+----------------------+
//	| entity u16 | kind u8 | size u8 | fields, size bytes   |
//	+------------+---------+---------+----------------------+
//
//	size 0: the entity is gone
type Record struct {
	Entity uint16 // the id of the entity
	Kind   uint8  // the number of its kind in the game's schema

	// Fields are the values of the kind's fields in the order of its schema, little endian,
	// each string as a size of one byte and its bytes: up to MaxFields bytes in all. If
	// empty, the entity is gone.
	Fields []byte
}

// Gone reports whether the entity is gone.
func (rec *Record) Gone() bool { return len(rec.Fields) == 0 }
