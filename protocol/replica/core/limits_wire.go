package core

// The document's limits: the largest sizes that its size fields can hold. They
// cannot be changed. Our own, lower limits are in limits.go.
const (
	// MaxReasonBytes is the longest reason of a reject or a disconnect.
	MaxReasonBytes = 255

	// MaxNameBytes is the longest name of a message, variable or entity.
	MaxNameBytes = 255

	// MaxDataBytes is the longest data of one message packet.
	MaxDataBytes = 65_535

	// MaxValueBytes is the longest replicated value.
	MaxValueBytes = 255

	// MaxListed is the greatest number of elements in a list of a link.table or a
	// replicate: each count is one byte.
	MaxListed = 255

	// MaxOrderLink is the largest Packet.OrderLink, as it has five bits.
	MaxOrderLink = 31
)

// The limits of what is ours beside the document. All our peers have them.
const (
	// MaxBundled is the greatest number of packets in a bundle.
	MaxBundled = 64

	// MaxBundledBytes is the longest packet in a bundle: its size has two bytes.
	MaxBundledBytes = 65_535

	// MaxAcked is how many numbers a datagram acknowledges at most. Each costs a look for its packet, so without it a bundle
	// of runs would be a second's work.
	MaxAcked = 1024
)

// Sizes of packets and of the fixed parts of blocks. A list's count is held
// against the least size of its elements before the list is walked, so that a
// lie in a count costs nothing.
const (
	initBytes       = 5
	acceptBytes     = 25 // printed as 13, of an older revision: the fields of its table add up to 25
	minRejectBytes  = 5  // without a size of the reason, as printed
	syncInitBytes   = 4
	syncAckBytes    = 22
	ackBytes        = 3
	linkBytes       = 6  // of link.init, link.accept, link.reject; the head of link.table
	replicateBytes  = 14 // up to the lists
	minMessageBytes = 15
	ackRunBytes     = 5

	bundledHead     = 2 // the size of a packet in a bundle
	minBundledBytes = 3 // an ack's
	minBundleBytes  = 1 + bundledHead + minBundledBytes

	minVariableBytes       = 4 // of a table: link, type, name size
	minEntityBytes         = 4 // of a table: link, name size, variable count
	minEntityVariableBytes = 3 // of an entity of a table: link, type, name size

	minEntityUpdateBytes   = 3 // of a replicate: link, variable count
	minVariableUpdateBytes = 3 // of an entity link: link, entity count
	minEntityValueBytes    = 2 // of a variable link: entity, data size
	minValueBytes          = 3 // of a replicate: link, data size
)
