package core

// The limits of the wire, which the document, its page or its layout set. A peer that
// goes past one is refused while its message is read, before anything is kept or made
// for it.
const (
	// Magic begins every datagram of the feed. The document prints "0x0fficecoffeedefec",
	// which is no number; with i for 1 and o for 0 it is, and without its leading zero it
	// has 64 bits.
	Magic = 0xFF1CEC0FFEEDEFEC

	// HeaderBytes is the size of the header of a datagram.
	HeaderBytes = 16

	// MaxMessage is the size of the largest message, on either channel. It bounds the
	// memory for a long message that a peer has announced and not completed.
	MaxMessage = 65535

	// MaxData bounds the data of an update or a sync, and MaxQueryData and MaxReplyData
	// bound those of a query and a reply: what a message leaves besides its other fields.
	MaxData      = MaxMessage - 3
	MaxQueryData = MaxMessage - 1
	MaxReplyData = MaxMessage - 2

	// MaxDatagram is the largest datagram that UDP carries over IPv4. A message of the
	// feed is shorter by its header.
	MaxDatagram = 65507

	// MaxPlayer is the largest id of a player: "Token 0 and player 0 are never given",
	// and a negative one would not be the SID of an element of the world.
	MaxPlayer = 1<<15 - 1

	// maxAhead is how far ahead of the last the number of a datagram may be: "A SEQ more
	// than 2^20 ahead is dropped". Without, one forged datagram would make all that
	// follow it late.
	maxAhead = 1 << 20
)
