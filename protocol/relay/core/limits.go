package core

import "time"

// The limits of the relay page.
const (
	// maxHoles bounds the ids of a peer that are missing: "Holes are remembered, at most 1,024:
	// a package that would open more is dropped unconfirmed." A peer that skips ids costs
	// 16 bytes for each, 16 KiB in all.
	maxHoles = 1024

	// maxOutstanding: "No sender has more than 1,024 ids outstanding", which is what keeps an
	// honest sender within the holes of its receiver.
	maxOutstanding = 1024

	// maxGathered confirmations go out at once: "or until 96 are due".
	maxGathered = 96

	// maxConfirmAfter bounds the option: "never over 100".
	maxConfirmAfter = 100 * time.Millisecond

	// leastResendAfter is the least resend delay, "as a peer may gather for 100 ms", and
	// firstResendAfter the one "while no round trip is known".
	leastResendAfter = 120 * time.Millisecond
	firstResendAfter = 220 * time.Millisecond

	// maxTries resends and giveUpAfter later "the peer has left", unless it has confirmed others within giveUpAfter: a receiver is cut
	// off only for its own silence.
	maxTries    = 6
	giveUpAfter = 5 * time.Second

	// nearIDs is how near the id of a leaving package must be to the newest of its
	// kind: one more thing that a forger must guess.
	nearIDs = 1024

	// maxMalformed in malformedSpan removes a peer: "64 in 10 s from a participant
	// removes it". What is no datagram costs parsing, and is not one of ours.
	maxMalformed  = 64
	malformedSpan = 10 * time.Second
)

// Our own limits. Those that a user may change are in Config and Rules.
const (
	// These and Rules.MaxBacklog add up to less than 1 MiB for a peer, with the tables that
	// the engine needs for 1,024 ids.

	// maxOutstandingBytes bounds what of them is unconfirmed: as much as 1,024 packages of
	// a quarter of the largest size. More wait in the backlog.
	maxOutstandingBytes = 128 << 10

	// maxHeldBytes bounds the packages that wait for a smaller id, maxReadyBytes those
	// that wait for the application. Past either a package is not confirmed, so
	// it comes again: a peer that never fills a hole, or an application that does not
	// read, costs this much.
	maxHeldBytes  = 256 << 10
	maxReadyBytes = 96 << 10

	// mostBacklog is the greatest Rules.MaxBacklog: more would not be a bound.
	mostBacklog = 256 << 20

	// waitingBytes is what each of these counts beside its bytes: a place in the engine's
	// tables, and a buffer that is larger than need be. Without, packages of one byte
	// would hold 30 times the bounds.
	waitingBytes = 128

	// maxLooseBytes bounds the unreliable packages of one peer that wait for the socket, and
	// those that wait for the application. The oldest goes first: a newer one is
	// worth more.
	maxLooseBytes = 64 << 10

	// leastShare is how many packages a second each participant may send, however large its room. One part in idlePart of
	// Rules.RoomRate is for participants that send more than their share. The packages of ownBurst and of idleBurst may be
	// sent at once. So a flood of one participant costs the server a third of a room's rate.
	leastShare = 60
	idlePart   = 3
	ownBurst   = time.Second
	idleBurst  = 250 * time.Millisecond

	// A peer is too slow when it takes less than slowRate bytes a second while one that sends no more than
	// fairPackages a second waits for it for slowAfter. Others would else wait for it for ever.
	slowRate     = 50_000
	fairPackages = 20
	slowAfter    = 5 * time.Second
	fairAfter    = time.Minute // it has sent no more, and nothing of it had to be refused

	// ipBytes are the headers of IPv4 and UDP, which a path carries with each datagram.
	ipBytes = 28

	// The path to a peer is measured by probes. probeEvery apart they are 700 bytes a second with their headers, and as many confirmations, and
	// only where something waits on the way. Elsewhere they are calmEvery or calmBytes apart. calmWait is what a probe may be later than
	// usual by before the next is sent soon. A peer that does not confirm them costs as much, and one that confirms them early, late or not
	// at all changes what it is sent itself.
	probeEvery = 45 * time.Millisecond
	calmEvery  = 240 * time.Millisecond
	calmWait   = 20 * time.Millisecond
	calmBytes  = 8 << 10
	fewBytes   = 256             // say nothing
	calmAfter  = 2 * time.Second // since the first

	// An answer to a player goes out again copyAfter it, if at least copyLoss of probes was lost of late, in 65,536ths, or if too few were sent to tell.
	copyAfter  = 8 * time.Millisecond
	copyLoss   = 1 << 16 / 256
	copyProbes = 64

	// mostBeside keeps the count of bytes before a probe from overflowing while none may be sent.
	mostBeside = 1 << 30

	// probeIDs are the ids that probes use in turn. Each is used again only when it was confirmed, and after the others: a confirmation
	// that comes twice is then hardly taken for the next one.
	probeIDs = 16

	// A probe is lost when one that was sent probeOrder later is confirmed, as a peer may gather for 100 ms, or after probeLife. If
	// shyProbes in a row are lost before any repeat was confirmed, the peer does not confirm repeats, and gets a new id each time.
	probeOrder = 150 * time.Millisecond
	probeLife  = 2 * time.Second
	shyProbes  = 6

	// firstProbes are sent before anything else, and with them firstBytes. The rest waits until one is confirmed, for firstWait
	// at most. Then each tick sends firstBytes, and twice, four and eight times as much when a round trip has shown that nothing waits.
	firstProbes = 4
	firstBytes  = 600
	mostFirst   = 8 * firstBytes
	firstWait   = 500 * time.Millisecond

	// gatherTime is by how much the usual round trip may be longer than the least, as a peer gathers confirmations. A peer that gathers for longer
	// makes its own path look narrow.
	gatherTime = 25 * time.Millisecond

	// leastDrift is the part of what a probe took longer than the least by which the least grows: a path that has become longer is known as
	// that after 20 s. If it were greater, a queue that stays would be taken for the path.
	leastDrift = 400

	// lossSpan is over how many probes their loss is measured: one alone says little about the bytes before it.
	lossSpan = 128

	// A probe is overdue that is overdueWait later than usual. While one is, a tick sends doubtBytes, and from manyDoubts
	// on heldBytes, until heldProbes of those that were sent since are confirmed: a path that has become narrow gets no more before it is known how
	// narrow. Probes that are lost by bad luck cost a tick or two of the far world, and
	// less where more than badLuck of them are: there one that is overdue says little, and still less from worseLuck on.
	manyDoubts  = 2
	badLuck     = 1 << 16 / 200
	worseLuck   = 1 << 16 / 10
	overdueWait = 30 * time.Millisecond
	doubtBytes  = 1200
	heldBytes   = 600
	heldProbes  = 4

	// takeEvery is how often a package of a sender that has to wait is taken although half of maxReadyBytes of it wait. The other half is
	// enough for more than a minute of that, and a receiver that takes nothing is gone sooner.
	takeEvery = time.Second

	// refusedLately is the time after a refused package for which its sender may have at most half of maxReadyBytes behind a
	// missing package.
	refusedLately = 10 * time.Second

	// easeBytes is how much room there is in a full line before its sender may go on, or half of the line if that is less.
	easeBytes = 4 * MaxDatagram

	// maxDirect bounds the datagrams of a port that go past the queues of their receivers, 24 KiB
	// in all: more wait in those. It is as much as a turn sends in one system call
	// and again as much, so that a flood of packages in one turn costs no more.
	maxDirect = 512

	// maxWaiting bounds the addresses that have answered their challenge and have shown no ticket yet, or are being judged, and
	// maxWaitingHere those of one host: "At most 64 connections of an address (/64 of IPv6) may be proven and not
	// entered". Each is an entry of 300 bytes, and a pass of up to 504, for waitingLife: "A proven connection that does
	// not enter within 10 s is closed". Past either a newcomer goes unanswered and asks again.
	maxWaiting     = 4096
	maxWaitingHere = 64
	waitingLife    = 10 * time.Second

	// entryIDs is how many of a newcomer's reliable ids are looked at for its pass, in a word each of which they are a bit. An honest client
	// has sent one or two before it answers its challenge.
	entryIDs = 64

	// joinBurst and joinRate bound how often one host may come into an open room: at once, and in a
	// second. One that comes and goes would else use up the numbers of the game. A prefix
	// has four times that.
	joinBurst = 256
	joinRate  = 16

	// clientHoleTimeout is how long a package of the server may be missing. On a narrow path, where a resend comes after 2 s and one of three is
	// lost, 20 s were too short once in 30 minutes.
	clientHoleTimeout = time.Minute

	// strayLife is how long after its joining a client takes a challenge for a late one of that time.
	strayLife = 5 * time.Second

	// maxAnswers bounds the challenges after the first that a client answers before it is let in: one that is
	// forged costs it a package, and there is a true one each minute.
	maxAnswers = 16

	// leaveSends is how often a client says that it leaves, leaveEvery apart or two round
	// trips if that is longer, until the server says that it is out. What is lost of
	// that the server learns from silence.
	leaveSends = 3
	leaveEvery = 100 * time.Millisecond

	// maxPorts bounds the ports of one server, and so what a lobby that opens one for each
	// game can be made to open.
	maxPorts = 4096

	// maxUsedTickets bounds the used tickets that are remembered until they expire, 6 MiB in
	// all. Past it no ticket is taken: it could be used twice.
	maxUsedTickets = 1 << 16
)

// laneSemiOrdered is the one order there is.
const laneSemiOrdered = 1
