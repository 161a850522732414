package stream

import (
	"time"

	"parley/internal/admission"
)

// Limits, and what each stops.
const (
	// readBytes is how many bytes one connection may deliver in a turn, also if the peer floods.
	readBytes = 4 << 10

	// MaxTurn bounds the connections of one turn, and so their bytes to 256 KiB: the core's timers, datagrams and ticks come
	// after that at the latest.
	MaxTurn = 64

	// maxPending bounds the bytes that a socket has not taken yet. The core sends only on a connection that is Ready, so
	// at most one Send is pending. The rest is for bytes that TLS writes by itself. Without the bound, a peer that asks
	// for key updates and reads nothing could fill memory.
	maxPending = 64<<10 + MaxSend

	// MaxSend bounds one Send.
	MaxSend = 16 << 10

	// maxHelloBytes bounds a client's hello, and maxShakeBytes all that it sends before its handshake is over. A hello has
	// about 1,500 bytes. TLS itself would accept one of 64 KiB, and hold it several times over while the handshake waits
	// for its turn.
	maxHelloBytes = 8 << 10
	maxShakeBytes = 24 << 10

	// DefaultHandshakeTime is the time limit of a handshake.
	DefaultHandshakeTime = 5 * time.Second

	// DefaultLinger is how long Finish waits for the peer to close too, so that the last bytes
	// are not lost to a reset.
	DefaultLinger = time.Second

	// firstPause and maxPause bound the time between two tries to accept when descriptors or memory have run out. That
	// ends by itself when other connections close.
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
)

// hostRate and networkRate bound the handshakes that a host (in IPv6 a /64) and a network (a /24 or /56) may begin in a
// second, and in a burst after silence. A handshake costs about half a millisecond of computing. So a host gets less than
// a tenth of a core, and a flood of thousands a second costs hardly more than accepting and closing. Beyond the limits,
// connections are closed at once, and honest clients try again.
var (
	hostRate    = admission.Limit{Rate: 128, Burst: 256}
	networkRate = admission.Limit{Rate: 512, Burst: 1024}
)
