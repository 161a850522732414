package core

// The limits of the wire, which the document, our page about it or its layout sets. A
// message over a limit is refused while it is read, before anything is stored or allocated
// for it.
const (
	// Magic begins every datagram of the feed. The document prints "0x0fficecoffeedefec",
	// which is not a number. Read with 1 for i and 0 for o, and without its leading zero, it
	// is a number of 64 bits.
	Magic = 0xFF1CEC0FFEEDEFEC

	// HeaderBytes is the size of the header of a datagram.
	HeaderBytes = 16

	// datagramBytes is what UDP and IPv4 add to a datagram.
	datagramBytes = 28

	// MaxMessage is the size of the largest message, on either channel. It bounds the
	// memory for a long message that a peer has announced and not completed.
	MaxMessage = 65535

	// MaxData bounds the data of an update or a sync, and MaxQueryData and MaxReplyData
	// bound the data of a query and of a reply: MaxMessage without the other fields.
	MaxData      = MaxMessage - 3
	MaxQueryData = MaxMessage - 1
	MaxReplyData = MaxMessage - 2

	// MaxDatagram is the size of the largest datagram that UDP carries over IPv4. A message
	// of the feed is shorter by HeaderBytes.
	MaxDatagram = 65507

	// MaxPlayer is the largest id of a player: "Token 0 and player 0 are never given",
	// and a negative one would not be the SID of an element of the world.
	MaxPlayer = 1<<15 - 1

	// maxAhead is how far ahead of the last the number of a datagram may be: "A SEQ more
	// than 2^20 ahead is dropped". Without, one forged datagram would make all that
	// follow it late.
	maxAhead = 1 << 20
)
