package core

import "time"

// Our own limits. Those that a user may change are in Config, with their defaults; what the
// document says is in limits_wire.go.
const (
	// maxEarlyMessage bounds a message of a client that is not logged in: a name and a password
	// as long as any that an account may have fit many times. Without, thousands of
	// strangers could each have 128 KiB of a password held that never ends.
	maxEarlyMessage = 4 << 10

	// maxAsked bounds the registrations and log-ins of one connection that wait for their
	// answers. Each may hold maxEarlyMessage and costs a password hash.
	maxAsked = 8

	// maxWantedChunks bounds the chunks that a client waits for; further ones are not noted.
	// A client that asks for the whole world again and again costs 12 KiB.
	maxWantedChunks = 1024

	// maxNear bounds the chunks among which the nearest is looked for, each time that one can be sent: a client that
	// asks for the whole world would have all of them looked at in each tick.
	maxNear = 64

	// leastChunkCost is charged to the byte budget for a chunk, however small: to encode one
	// means to look at 65,536 cells, so that small ones are no cheaper for us.
	leastChunkCost = 4 << 10

	// batchBytes is from where on a message of chunks takes no further one, so that it stays
	// "within 256 KiB": the last may have MaxChunk bytes.
	batchBytes = 32 << 10

	// roomBytes is below what the send queue must be for terrain to be encoded: "encoded when
	// there is room and never queued". What is queued beyond it is kept in no more memory than it needs.
	roomBytes = 64 << 10

	// firstCoalesce is the length of a send queue from which on entity updates in it are
	// merged; then at twice what was left. A reader that keeps up never gets there.
	firstCoalesce = 128 << 10

	// frameOverhead is what a queued message holds beside its bytes, so that a queue of tiny
	// ones is bounded too.
	frameOverhead = 64

	// maxKeptFrames bounds the heads of messages that are kept for later use.
	maxKeptFrames = 4096

	// maxTicksAhead is how far in the future a client's tick may be: "ones more than 2 ticks
	// ahead are refused".
	maxTicksAhead = 2

	// probeWithin is how long a connection may take to show that it is there when its account logs in again: "without an
	// answer in 2 s the new one takes its place".
	probeWithin = 2 * time.Second

	// probeRest is how long such an answer stands. Who knows the password and logs in again and again so has its own player
	// pinged once a second.
	probeRest = time.Second

	// burstSpan and burstStep are a burst of the time server: "every 100 ms for 1 s".
	burstSpan = time.Second
	burstStep = 100 * time.Millisecond

	// maxBursts bounds the bursts that run at once: 256 KiB. One more is not begun; its client
	// asks again.
	maxBursts = 4096

	// guestRate is how many questions a second the time server answers an address without a connection, where such are
	// answered at all; guestPrefixRate and guestTotalRate are for its prefix and for all. A client asks a few times
	// in its first seconds.
	guestRate       = 20
	guestPrefixRate = 400
	guestTotalRate  = 4000

	// guestBurst is how many times such an address is sent for an empty datagram: 2 of 36 bytes for 28, headers counted,
	// so that a forged question has at most three times its bytes sent to somebody else.
	guestBurst = 2

	// timeBytes is the size of a time on the wire.
	timeBytes = 8
)
