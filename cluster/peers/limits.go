package peers

import "time"

const (
	// maxFlying bounds the reliable packages of a participant that some node has not confirmed, and those that a node holds of it: a participant
	// that sends without end is slowed down where it is, and costs each node 32 KiB.
	maxFlying = 64

	// maxPayload bounds a payload: relay's have 504 bytes.
	maxPayload = 1024

	// maxNodes bounds the nodes that packages go to: each is a bit.
	maxNodes = 64

	// maxStreams bounds the participants of other nodes that are known here, 32 KiB each at worst. Packages of more are not taken.
	maxStreams = 8192

	// maxMessage is how large a message gets before the next begins, and maxWaiting how many bytes of messages wait for the carrier. Beyond it
	// packages are left out: the reliable ones come again.
	maxMessage = 32 << 10
	maxWaiting = 4 << 20

	// gather is how long a package waits for others to go with it, and confirmAfter how long a confirmation does.
	gather       = time.Millisecond
	confirmAfter = 10 * time.Millisecond

	// resendAfter is when a package comes again that was not confirmed, doubling up to resendMost, and lookEach how often that is looked at.
	resendAfter = 200 * time.Millisecond
	resendMost  = 2 * time.Second
	lookEach    = 50 * time.Millisecond

	// sayEach is how often a node says how many participants it has. One that has said nothing for silentNode is not waited for: its own
	// participants have given it up by then.
	sayEach    = time.Second
	silentNode = 10 * time.Second

	// sureAfter is how often another node has said that it waits for this one until a package that it has given up counts as missed: one that it sent
	// before may come late.
	sureAfter = 2

	// forgetAfter is how long a node keeps a participant in mind of whom it hears nothing: a copy of a package may come so late.
	forgetAfter = 30 * time.Second
)
