package relay

// The limits of the wire, which the document sets. A peer that goes past one is refused
// while its datagram is read, before anything is kept or made for it.
const (
	// HeaderBytes is the size of what begins every datagram: flags and id.
	HeaderBytes = 4

	// MaxPayload bounds the payload of a package: "payload – 504 bytes or less".
	MaxPayload = 504

	// MaxDatagram is the largest datagram there is. A socket may read into a buffer of
	// one byte more: what fills that is refused.
	MaxDatagram = HeaderBytes + MaxPayload

	// MaxID is the largest id, after which the counter starts again at 0.
	MaxID = 1<<24 - 1

	// MaxConfirmed is how many ids a confirmation has at most: as many as fit.
	MaxConfirmed = MaxPayload / idBytes

	idBytes = 3
)
