package reliable

import "time"

// Limits of the engine that hold for all dialects. A dialect chooses the others in SendConfig,
// ReceiveConfig and AssemblyConfig.
const (
	// holeBytes is the memory that a run of missing numbers takes in a receiver that waits for them.
	holeBytes = 24

	// maxPacketBytes is the largest UDP payload over IPv4. A larger packet could
	// never be sent, so it is an error to the caller and not a stuck window.
	maxPacketBytes = 65507

	// maxRTT and minRTT bound the round trips that are believed. A peer that answers at misleading
	// times (T15) can slow down or speed up the resends to itself no further than this.
	maxRTT = 10 * time.Second
	minRTT = time.Millisecond

	// manyDoubts is how many acknowledgements in a row must be of resent packets before the round
	// trip is taken to have grown. Loss alone causes fewer.
	manyDoubts = 8

	// maxVague is how many acknowledgements in a row may give no sample of the round trip, as their
	// packets were resent, before one is used as a sample after all. With a third of all packets
	// lost, so many follow each other by chance once in 6,000.
	maxVague = 8

	// lateKept is how many packets that were reported lost are remembered, in case that they were only late. A peer that
	// acknowledges late can choose a sample of the round trip, as it can by any acknowledgement.
	lateKept = 8

	// smallPacketBytes is the largest packet that gets early resends and may pass a queue of bulk
	// data. A game's inputs and events fit, parts of large messages do not.
	smallPacketBytes = 256

	// maxAckRanges bounds the acknowledgements that a receiver has yet to send. A peer that sends
	// reliable packets in a pattern that cannot be merged into ranges, and never lets us send, costs
	// 4 KiB here. Then the oldest acknowledgements are dropped, which is safe: an unacknowledged
	// packet is sent again.
	maxAckRanges = 256

	// heldOfAll bounds the bytes that all connections of a server together hold behind gaps.
	// ownHeldBytes is what each connection may hold besides. Peers that leave gaps open can use up
	// heldOfAll. Every other connection can then still hold what the smallest congestion window sends.
	// With 4,096 connections both come to 64 MiB.
	heldOfAll    = 32 << 20
	ownHeldBytes = 8 << 10

	// ownHeldSpan is how many numbers ahead of the expected one a packet in a connection's own share
	// may be.
	ownHeldSpan = 16

	// partialOfAll bounds the bytes of large partial messages of all connections together.
	// ownPartialBytes is what each connection has for small ones besides. With 4,096 connections
	// both come to 64 MiB.
	partialOfAll    = 32 << 20
	ownPartialBytes = 8 << 10

	// A large partial message whose newest stalledBytes took longer than stalledAfter is dropped if another
	// waits for its place. That is 1.6 KB a second, less than the slowest honest sender on a path that loses
	// half. Without this rule, 32 peers that pause would keep all others from sending large messages.
	stalledAfter = 10 * time.Second
	stalledBytes = 16 << 10

	// lanes is how many orders of delivery one connection has: replica keeps
	// linking and messages apart "as the two kinds must not hold each other up".
	lanes = 2

	// mss is the packet size, in bytes, that the congestion window counts in. Every dialect keeps its
	// packets to it, and every path carries it.
	mss = 1200

	// minWindowBytes keeps a flow alive on the narrowest link: with four packets in flight,
	// acknowledgements of three later ones can still show a loss.
	minWindowBytes = 4 * mss

	// firstWindowBytes is what a new connection may send before it knows anything about the path.
	firstWindowBytes = 12 * mss
)
