package udp

import "time"

// Limits of the protocol and of the kernel.
const (
	// MaxPayload is the largest payload that UDP over IPv4 can carry: 65,535 bytes less
	// 20 of IP and 8 of UDP header. It is our limit for IPv6 too, so that the limit does
	// not depend on the receiver's address family.
	MaxPayload = 65507

	// groBufferBytes is the largest buffer that the kernel fills when it joins
	// datagrams. A smaller buffer would lose the tail of a joined train.
	groBufferBytes = 65535

	// maxGSOSegments is the kernel's bound on datagrams in one GSO send (64
	// before Linux 6.9, 128 since; we keep to what every kernel takes).
	maxGSOSegments = 64

	// maxBatch is the kernel's bound on messages in one recvmmsg or sendmmsg.
	maxBatch = 1024
)

// Limits of this package.
const (
	// defaultBatch is how many messages one system call carries. Beyond 64 the
	// entry cost of a call is below 1% of the work done in it.
	defaultBatch = 64

	// defaultBufferBytes is what we ask of the kernel for each of the two socket buffers.
	// It holds about 5,000 small datagrams, which is 50 ms of a flood of 100,000 a
	// second, so that a pause of the loop does not lose an honest burst.
	defaultBufferBytes = 4 << 20

	// maxCallDatagrams bounds the datagrams in trains that one system call sends. A stop of
	// the world waits for the call: 0.8 ms with 1,024 datagrams. With 256 it takes as long
	// as a call of 64 single datagrams.
	maxCallDatagrams = 256

	// writeWait bounds how long Write waits for room in the kernel's buffer. A loop that
	// waits for ever for one congested interface serves nobody.
	writeWait = 5 * time.Millisecond

	// minGSOSegment is the smallest limit on the GSO segment size that is worth keeping:
	// if the kernel refuses groups of datagrams as small as this, the path's MTU is not
	// the reason, and GSO is switched off for good.
	minGSOSegment = 512

	// maxStrangeErrors is how many unknown errors in a row a read survives. It stops a
	// broken descriptor from making the loop spin.
	maxStrangeErrors = 64

	// maxQueued bounds the datagrams that wait at a socket of a Network, as a kernel's
	// receive buffer does. When the queue is full, the newest is dropped.
	maxQueued = 4096

	// maxZones bounds the table of interface names. A machine has a few; the
	// scope numbers in it come from the kernel, not from a peer.
	maxZones = 256
)
