package core

// The limits of the wire, which the document or its layout set. A peer that goes past
// one is refused while its packet is read, before anything is kept or made for it.
const (
	// HeaderBytes is the size of the header of every packet. The document prints the
	// message at position 10, but the fields of its header table add up to this.
	HeaderBytes = 12

	// MaxData bounds the data of an entity packet, so that the packet fits into a
	// datagram that usual paths do not fragment. It also bounds the work that one
	// datagram causes at a client: at most MaxData/RecordBytes records.
	MaxData = MaxPacket - HeaderBytes

	// MaxPacket is the size of the largest packet. A socket may read into a buffer of one
	// byte more: a datagram that fills it is refused.
	MaxPacket = 1200

	// MaxReason bounds the reason of a disconnect: its size is one byte.
	MaxReason = 255

	// RecordBytes is the size of a record of a gone entity, and of the head of any other
	// record.
	RecordBytes = 4

	// MaxFields bounds the fields of one record: their size is one byte.
	MaxFields = 255
)
