package core

// The limits of the wire, which the document sets. A datagram over a limit is refused while
// it is read, before anything is stored or allocated for it.
const (
	// HeaderBytes is the size of the header of every datagram: flags and id.
	HeaderBytes = 4

	// MaxPayload bounds the payload of a package: "payload – 504 bytes or less".
	MaxPayload = 504

	// MaxDatagram is the size of the largest datagram. A socket can read into a buffer of one
	// byte more, so that a larger datagram is recognized and refused.
	MaxDatagram = HeaderBytes + MaxPayload

	// MaxID is the largest id, after which the counter starts again at 0.
	MaxID = 1<<24 - 1

	// MaxConfirmed is the greatest number of ids in a confirmation: as many as fit.
	MaxConfirmed = MaxPayload / idBytes

	idBytes = 3
)
