package core

import "time"

// Our own limits. Those that a user may change are in Config, with these as
// their defaults; what the document says is in limits_wire.go.
const (
	// maxPacketBytes keeps every packet that we may split below what every path
	// carries whole: "Each packet stays within 1,200 bytes."
	// A peer over WebTransport gets less: see Endpoint.most.
	maxPacketBytes = 1200

	// maxBesideBytes bounds the unreliable messages for which a packet of values leaves room in its datagram.
	maxBesideBytes = 256

	// ownBesideBytes is the room that it leaves for acks and a packet of the clock, and for what makes a bundle of all that.
	ownBesideBytes = 64

	// maxDatagramBytes is the largest UDP payload; a message to a foreign peer
	// "is one datagram, at most what fits into 65,507 bytes".
	maxDatagramBytes = 65507

	// messageOverhead is what a message packet has besides name and data.
	messageOverhead = 15

	// maxSyncInterval is the longest between two comparisons of clocks, whatever a
	// server says: a client's patience is three of them.
	maxSyncInterval = 3 * time.Second

	// maxEvents and maxControl bound what waits for an application that does not
	// read and for a socket that does not write. Past the first, news of values are
	// one event, and skipped messages are only counted; past the second, a sync or
	// an answer is left out, as if it were lost.
	maxEvents  = 256
	maxControl = 64

	// initRepeat and maxInitRepeat pace a client's init and its ack of the accept:
	// often enough that several come within the 5 s that a server waits.
	initRepeat    = 250 * time.Millisecond
	maxInitRepeat = time.Second

	// maxUnprovenSyncs bounds what an address costs that never proves itself.
	maxUnprovenSyncs = 10

	// minAskEvery keeps what a forged init and a forged ack bring their victim
	// within three times their bytes.
	minAskEvery = time.Second

	// firstWithin is for how long a client with an accept takes only what a server sends to
	// one that it does not know yet: numbers that follow the accept's within
	// maxUnprovenSyncs, or each other. Without, a client that crashed and came back at
	// the same port, and got an accept that was still under way to its former self, would
	// walk into the middle of that one's connection; so it keeps still until the server
	// has given that connection up. A foreign server that begins with other numbers has
	// its client wait for this long.
	firstWithin = 5 * time.Second

	// replacedAfter is how long a connection may stay silent after a new init
	// from its address: only who receives our sync.init can keep it alive, so a
	// forged init ends nothing.
	replacedAfter = 2 * time.Second

	// forgedAfter is the same for a disconnect that a client seems to have sent.
	forgedAfter = time.Second

	// closeSends bounds how often a disconnect is sent.
	closeSends = 5

	// obeyedWithin is how near a disconnect must be to the newest sequence that
	// a client got, or a notice to one that it sent: a forger who cannot see the
	// packets must guess it.
	obeyedWithin = 1024

	// maxMalformed in malformedSpan ends a connection: a peer that sends garbage
	// costs parsing, and is not one of ours.
	maxMalformed  = 64
	malformedSpan = 10 * time.Second

	// maxRejectReason keeps a reject no larger than an accept, so that it gains
	// a forger nothing.
	maxRejectReason = 19

	// reliableEvery makes every so many numbers a reliable packet, so that the
	// span of numbers always moves on: "at least one of any 2,048 consecutive
	// numbers is a reliable packet".
	reliableEvery = 2048

	// maxLooseBytes bounds the memory of the unreliable messages that wait for the
	// socket behind the oldest. The oldest goes first: a newer one is worth more.
	maxLooseBytes = 128 << 10

	// maxQueuedBytes bounds the memory of the ordered messages that wait behind the
	// one that is being sent, whole buffers and their places in the queue included: a
	// peer that takes nothing costs this, one message and the window, however small
	// the messages are. Each packet in flight counts flightBytes here, as what is kept of it is larger
	// than it is if it is small; leastQueuedBytes may always wait.
	maxQueuedBytes   = 512 << 10
	leastQueuedBytes = 64 << 10
	flightBytes      = 136

	// receiveOverhead is what a received packet that waits counts beside its bytes, for
	// its place and for what its buffer is larger than it. Without it, messages of a byte
	// that no one reads would hold ten times their limit.
	receiveOverhead = 96

	// maxReadyBytes bounds the packets that wait for an application that does not read, or behind a
	// message in parts that waits for room. With it and the next two, all that was received and waits takes 1 MiB.
	maxReadyBytes = 224 << 10

	// maxHeldPackets and maxHeldBytes bound the packets that wait for an earlier one. It is
	// what a peer may have sent since then, 4,096 numbers and 256 KiB: with less, what is
	// refused comes again and again, and may be given up although all goes well.
	maxHeldPackets = 4096
	maxHeldBytes   = 256<<10 + maxHeldPackets*receiveOverhead

	// guestBytes and guestPackets bound what waits of a connection that has not entered: behind a gap, in half-sent messages
	// and for the application. That is less than the share that each connection has of its own, so 4,096
	// connections that never enter take nothing of what all share. More is not acknowledged and comes again, by then
	// perhaps to one that has entered.
	guestBytes   = 6 << 10
	guestPackets = 32

	// maxNamesBytes and maxSeenValues bound what a server can make a client
	// remember: all the names of its tables, and one value a variable of each
	// entity in sight.
	maxNamesBytes = 1 << 20
	maxSeenValues = 1 << 16

	// maxAsked bounds the unproven addresses that are owed a sync.init: as many as
	// may be half open.
	maxAsked = 4096

	// maxFrames is how many sorts of views are told from one writing of a tick. Each costs
	// the packets of a tick, and a look at its name for each client.
	maxFrames = 8

	// maxSpareCargos is how many of the shortest lists of what a packet carried are kept for the
	// next ones, two for each of 4,096 players who all see something else, 2 MiB, and half as many of each next size.
	maxSpareCargos = 8192

	// maxSpareSlots is how many slots of a kind are kept for the next that is seen by someone:
	// 80 bytes each and 8 for each variable. When there is none, slotsAtOnce are made.
	maxSpareSlots = 4096
	slotsAtOnce   = 16

	// syncsKept is how many of the last sync packets can be answered.
	syncsKept = 4
)

// The lanes of the engine: "Linking packets share one order, messages another, as
// the two kinds must not hold each other up."
const (
	laneLink    = 1
	laneMessage = 2
)
