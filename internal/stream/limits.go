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

	// pacedBeside is that of a stream with datagrams beside it. What a player cannot do without has the rest.
	pacedBeside = 75

	// aloneTicks is after how many ticks without datagrams beside it a stream carries everything again.
	aloneTicks = 40

	// lateTime is how much longer than the least round trip bytes must wait for nothing more to be written than a player cannot
	// do without, whatever is known of the path: longer than any peer takes to acknowledge, and a tick.
	lateTime = 150 * time.Millisecond

	// silentTime is that of a stream with datagrams beside it, as long as nothing shows that its path is narrow: what waits may wait for what was lost.
	silentTime = 300 * time.Millisecond

	// loadTime and loadBytes are what a narrow path may have waiting, beside a round trip's bytes: those of two ticks, and a
	// little for what is sent in any case. With twice that, nothing is added until it is as little.
	loadTime  = 100 * time.Millisecond
	loadBytes = 512

	// busyTime is how long more than busyBytes must be under way for what arrives in that time to be a measure of the path.
	busyTime  = 300 * time.Millisecond
	busyBytes = 2 << 10

	// maxMarks bounds the ticks of which it is remembered when they were written, until their bytes have arrived. A peer that
	// acknowledges nothing costs 2.5 KiB by that.
	maxMarks = 64

	// lookBytes and lookTicks are from how many bytes on that may be under way, or after how long, the system is asked what of a
	// stream has arrived. A stream that waits is looked at each tick. A thousand players that keep up and are told little cost
	// some hundred calls a tick by that. Less than lookBytes fill no link for long.
	lookBytes = 4 << 10
	lookTicks = 8

	// lookWait is how much longer than usual something must take for the stream to be looked at each tick.
	lookWait = 20 * time.Millisecond

	// lookProbe is after how many ticks a stream is to have a message under way while datagrams go out beside it, if there were
	// probeBytes of these, and in any tick if there were probeMany: only the stream tells how they fare.
	lookProbe  = 4
	probeBytes = 4 << 10
	probeMany  = 8 << 10

	// recoverTime is for how long a stream that has lost something is looked at in each tick: the system may hold back what is written.
	recoverTime = 500 * time.Millisecond

	// gatheredTime is how much longer than usual a single round trip may take because the peer acknowledges late.
	gatheredTime = 70 * time.Millisecond

	// mostDoubted is how many round trips in a row that were long may each be of something lost.
	mostDoubted = 4

	// exactTime is how long after a look what the peer has sent by itself is taken for its answer.
	exactTime = 75 * time.Millisecond

	// clockStep is how exactly a system knows when an acknowledgement came.
	clockStep = 4 * time.Millisecond

	// bunched is how much of a queue that is wanted elsewhere is wanted ahead of a tick's datagrams, too.
	bunched = 3 * time.Millisecond

	// segmentBytes is what a segment carries, about.
	segmentBytes = 1400

	// Bytes are overdue, or were late, that take overdueWait longer than usual, narrowWait on a narrow path, and delayed with calmWait. While
	// some are overdue, a tick sends doubtBytes: a path that has become narrow fills no more before it is known how narrow.
	overdueWait = 30 * time.Millisecond
	narrowWait  = 50 * time.Millisecond
	calmWait    = 20 * time.Millisecond
	firstSpread = 10 * time.Millisecond // by how much round trips differ, before that is known
	doubtBytes  = 1200

	// When manyDoubts are, a tick sends heldBytes, or heldPart of a second's if the path is narrow and that is less, until so many looks have
	// seen something arrive, at least for findTime, that the rate of the path is known.
	manyDoubts = 2
	heldBytes  = 600
	heldPart   = 40
	heldLooks  = 4
	findTime   = 15 * time.Millisecond

	// vainHolds is after how many such times without a result the path counts as narrow. Each takes a second and fills a queue.
	vainHolds = 2

	// gatherTime is by how much the usual round trip may be longer than the least: peers acknowledge late what they may answer.
	gatherTime = 25 * time.Millisecond

	// leastEpoch is half of the time for which a least round trip is believed. A narrow path is let run empty more often: see package pace.
	leastEpoch = 10 * time.Second

	// firstBytes are what a tick may send at first. It is twice as much after each round trip in time, and all from mostFirst on, or after
	// calmAfter if there is no more to send. A path that is narrow from the beginning has a short queue by that when it is known.
	firstBytes = 600
	mostFirst  = 32 * firstBytes
	calmAfter  = 2 * time.Second

	// maxHelloBytes bounds a client's hello, and maxShakeBytes all that it sends before its handshake is over. A hello has
	// about 1,500 bytes. TLS itself would accept one of 64 KiB, and hold it several times over while the handshake waits
	// for its turn.
	maxHelloBytes = 8 << 10
	maxShakeBytes = 24 << 10

	// maxHeaders bounds the connections of proxies of which the PROXY header has not come. A client that a proxy lets in has
	// one at once, so only a proxy that fails holds many. Each has a goroutine, some 4 KiB.
	maxHeaders = 4096

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
