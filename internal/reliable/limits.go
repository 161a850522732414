package reliable

import "time"

// Limits of the engine itself. What a dialect may choose is in SendConfig,
// ReceiveConfig and AssemblyConfig; what stands here holds for all of them.
const (
	// holeBytes is what a row of missing numbers costs a receiver that waits for them.
	holeBytes = 24

	// maxPacketBytes is the largest UDP payload over IPv4. A larger packet could
	// never be sent, so it is an error to the caller and not a stuck window.
	maxPacketBytes = 65507

	// maxRTT and minRTT bound a round trip that is believed. A peer that answers
	// with wild times (T15) can slow its own resends down to this, or speed them
	// up to this, and no further.
	maxRTT = 10 * time.Second
	minRTT = time.Millisecond

	// manyDoubts is how many acknowledgements in a row must be of resent packets before
	// the round trip is taken to have grown. Loss alone makes a few.
	manyDoubts = 8

	// maxVague is how many acknowledgements in a row may say nothing of the round trip,
	// as their packets were resent, before one is taken for a sample after all. At a loss
	// of a third that happens by chance once in 6,000.
	maxVague = 8

	// smallPacketBytes is the largest packet that is sent again ahead of loss
	// and may pass a queue of bulk data: a game's inputs and events fit, parts
	// of large messages do not.
	smallPacketBytes = 256

	// maxAckRanges bounds what a receiver owes in acknowledgements. A peer that
	// sends reliable packets in a pattern that cannot be merged into ranges, and
	// never lets us send, costs 4 KiB here; the oldest debt is forgotten then,
	// which is safe: what is not acknowledged comes again.
	maxAckRanges = 256

	// heldOfAll bounds the packets that all connections of a server hold behind gaps, and ownHeldBytes
	// is the share that each always has beside it. Peers that leave a gap open take all of the first;
	// the others then still have what the smallest congestion window sends. With 4,096 connections
	// that is 64 MiB in all.
	heldOfAll    = 32 << 20
	ownHeldBytes = 8 << 10

	// ownHeldSpan is how far ahead a packet may be that waits in a connection's own share.
	ownHeldSpan = 16

	// partialOfAll bounds what the large half-sent messages of all connections may come to, and
	// ownPartialBytes is what each connection has for small ones, whatever the others do. With 4,096
	// connections that is 64 MiB in all.
	partialOfAll    = 32 << 20
	ownPartialBytes = 8 << 10

	// A large half-sent message that took longer than stalledAfter for its newest stalledBytes gives way
	// if another waits for its room: 1.6 KB a second is less than the slowest honest sender on a
	// path that loses half. Without it 32 peers that pause would keep all others from sending large messages.
	stalledAfter = 10 * time.Second
	stalledBytes = 16 << 10

	// lanes is how many orders of delivery one connection has: replica keeps
	// linking and messages apart "as the two kinds must not hold each other up".
	lanes = 2

	// mss is the packet size that the congestion window counts in: what every
	// dialect keeps its packets to, and what every path carries.
	mss = 1200

	// minWindowBytes keeps a flow alive on the narrowest link: with four packets
	// in flight three later acknowledgements can still show a loss.
	minWindowBytes = 4 * mss

	// firstWindowBytes is what a new connection may send before it has heard
	// anything of the path.
	firstWindowBytes = 12 * mss
)
