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

	// maxUnsent is from where on the system takes no more bytes of a connection that it has not sent yet (TCP_NOTSENT_LOWAT).
	// What waits there is old when it arrives, and nothing can overtake it. The core changes what waits there to its newest.
	maxUnsent = 16 << 10

	// sendBuffer bounds what the system holds of a connection, sent or not. By itself it lets a buffer grow to megabytes: for
	// a peer that never reads, and for each of thousands of those, and seconds of waiting for one behind a slow link. A link
	// with a round trip of 100 ms gets 20 Mbit/s with it.
	sendBuffer = 256 << 10

	// pacedShare is which share, in percent, of a narrow path's rate the system may use at once: a little more, as the rate is
	// an estimate and a path that has become wider must show it.
	pacedShare = 125

	// fullWait is how much longer than the least round trip a message must take for half of the datagrams beside it to be taken
	// for lost, as long as the path is not known to be narrow: of these only the stream tells, and a queue that is full drops what is
	// above the rate of its link.
	fullWait = 80 * time.Millisecond

	// fullTimes is how many messages in a row must take that long for the path to count as narrow: one may be late by chance.
	fullTimes = 2

	// aloneTicks is after how many ticks without datagrams beside it a stream carries everything again.
	aloneTicks = 40

	// lateTime is how much longer than the least round trip bytes must wait for nothing more to be written than a player cannot
	// do without, whatever is known of the path: longer than any peer takes to acknowledge, and a tick.
	lateTime = 150 * time.Millisecond

	// heldTime and heldBytes are what a narrow path may have waiting, beside a round trip's bytes: those of two ticks, and a
	// little for what is sent in any case. With twice that, nothing is added until it is as little.
	heldTime  = 100 * time.Millisecond
	heldBytes = 512

	// busyTime is how long more than busyBytes must be under way for what arrives in that time to be a measure of the path.
	busyTime  = 300 * time.Millisecond
	busyBytes = 2 << 10

	// maxMarks bounds the ticks of which it is remembered when they were written, until their bytes have arrived. A peer that
	// acknowledges nothing costs 1.5 KiB by that.
	maxMarks = 64

	// lookBytes and lookTicks are from how many bytes on that may be under way, or after how long, the system is asked what of a
	// stream has arrived. A stream that waits is looked at each tick. A thousand players that keep up and are told little cost
	// some hundred calls a tick by that. Less than lookBytes fill no link for long.
	lookBytes = 4 << 10
	lookTicks = 8

	// lookWait is how much longer than the least round trip something must take for the stream to be looked at each tick.
	lookWait = 20 * time.Millisecond

	// lookProbe is after how many ticks a stream is to have a message under way while datagrams go out beside it, narrowProbe
	// if the path is narrow, and probeBytes after how many bytes of these: only the stream tells how they fare.
	lookProbe   = 4
	narrowProbe = 1
	probeBytes  = 4 << 10

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
