package stream

import (
	"time"

	"parley/internal/admission"
)

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

	// maxHelloBytes bounds a client's hello, and maxShakeBytes what it sends before its handshake is over. A hello has about
	// 1,500 bytes; TLS itself would take one of 64 KiB, and hold it several times over while the handshake waits for its
	// turn.
	maxHelloBytes = 8 << 10
	maxShakeBytes = 24 << 10

	// DefaultHandshakeTime is the time limit of a handshake.
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

// How many handshakes a host (an IPv6 host is its /64), and a /24 or /56 network, may begin in a second, and at once after
// a silence. One costs about half a millisecond of computing: a host gets less than a tenth of a core, and a flood of
// thousands a second costs hardly more than accepting and closing. Beyond it connections are closed at once, and
// honest clients try again.
var (
	hostRate    = admission.Limit{Rate: 128, Burst: 256}
	networkRate = admission.Limit{Rate: 512, Burst: 1024}
)
