package impair

import "time"

const (
	// maxFlows bounds the clients of one proxy at a time: each UDP client costs a
	// socket and a goroutine. Further ones are dropped and counted.
	maxFlows = 16 << 10

	// idleAfter ends a UDP client that sent and got nothing, as a NAT would.
	idleAfter = 2 * time.Minute

	// maxPendingBytes bounds what waits to be sent, over all clients: a delay of a
	// second at 1 Gbit/s. Further datagrams are dropped and counted, and a TCP connection is
	// not read meanwhile.
	maxPendingBytes = 128 << 20

	// segmentBytes is how much of a stream travels, and is lost, as one.
	segmentBytes = 1448

	// maxStreamBytes bounds what is held of one direction of a TCP connection: past it
	// the proxy reads no further, and the sender feels it.
	maxStreamBytes = 4 << 20

	// leastBufferBytes is about the least that Linux lets a receive buffer be. A stream still flows at full
	// rate through it.
	leastBufferBytes = 2304

	// mostBufferBytes bounds a receive buffer whose queue is long. Linux would not give more either.
	mostBufferBytes = 1 << 20

	// boundlessQueue is the longest queue of a simnet.Profile.
	boundlessQueue = 24 * time.Hour

	// maxResends is how often kernels send a segment again before they give up.
	maxResends = 15

	// leastResend is the least time that kernels wait for an acknowledgement before
	// they send a segment again.
	leastResend = 200 * time.Millisecond

	// nap is the longest that the schedule sleeps while something waits: something sooner may
	// come meanwhile.
	nap = 200 * time.Microsecond

	// maxDatagram is the largest UDP payload.
	maxDatagram = 65_507
)
