package core

// The limits of the wire, which the document or its layout sets. A packet over a limit is
// refused while it is read, before anything is stored or allocated for it.
const (
	// HeaderBytes is the size of the header of every packet. The document prints the
	// message at position 10, but the fields of its header table add up to 12 bytes.
	HeaderBytes = 12

	// MaxData bounds the data of an entity packet, so that the packet fits into a
	// datagram that usual paths do not fragment. It also bounds the work that one
	// datagram causes at a client: at most MaxData/RecordBytes records.
	MaxData = MaxPacket - HeaderBytes

	// MaxPacket is the size of the largest packet. A socket can read into a buffer of one
	// byte more, so that a larger datagram is recognized and refused.
	MaxPacket = 1200

	// MaxReason bounds the bytes of a disconnect's reason: its size field has one byte.
	MaxReason = 255

	// RecordBytes is the size of a record of a gone entity, and of the head of any other
	// record.
	RecordBytes = 4

	// MaxFields bounds the bytes of a record's fields: their size field has one byte.
	MaxFields = 255
)
