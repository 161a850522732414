package stream

import "time"

// Limits, and what each stops.
const (
	// readBytes is what one connection may hand in a turn: a peer that floods has this much of
	// each turn, as everybody has.
	readBytes = 4 << 10

	// aheadBytes are read where a connection waits for bytes, without a buffer.
	aheadBytes = 16

	// maxPending bounds what a socket has not taken yet. The core sends only to who is
	// Ready, at most one Send at a time; the rest is for what TLS writes by itself. Without
	// the bound a peer that asks for key updates and reads nothing could fill memory.
	maxPending = 64<<10 + MaxSend

	// MaxSend bounds one Send.
	MaxSend = 16 << 10

	// DefaultHandshakes is how many connections may be in their handshake at once; of more,
	// the one that began first is cut, so that who is slow makes room for who is not.
	DefaultHandshakes = 4096

	// DefaultHandshakeTime is what a handshake may take in all.
	DefaultHandshakeTime = 5 * time.Second

	// DefaultLinger is how long Finish waits for the peer to close too, so that the last bytes
	// are not lost to a reset.
	DefaultLinger = time.Second

	// firstPause and maxPause are between two tries to accept when descriptors or memory are
	// lacking: the lack ends by itself when somebody leaves.
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second

	// maxCommands bounds the functions that wait for a Loop.
	maxCommands = 1024
)
