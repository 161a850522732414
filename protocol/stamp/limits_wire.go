package stamp

// The limits of the wire, which the document or its layout set. A peer that goes past
// one is refused while its packet is read, before anything is kept or made for it.
const (
	// HeaderBytes is the size of what begins every packet. The document prints the
	// message at position 10, but the fields of its header table add up to this.
	HeaderBytes = 12

	// MaxData bounds the data of an entity packet, so that the whole fits into a
	// datagram that no usual path splits. It also bounds what one datagram can
	// make a client do: no more than MaxData/RecordBytes records.
	MaxData = MaxPacket - HeaderBytes

	// MaxPacket is the largest packet there is. A socket may read into a buffer of
	// one byte more: what fills that is refused.
	MaxPacket = 1200

	// MaxReason bounds the reason of a disconnect: its size is one byte.
	MaxReason = 255

	// RecordBytes is the size of a record that says that its entity is gone, and of
	// what precedes the fields of any other.
	RecordBytes = 4

	// MaxFields bounds the fields of one record: their size is one byte.
	MaxFields = 255
)
