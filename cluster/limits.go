package cluster

import "time"

const (
	// logStreams is how many streams the logs of rooms are spread over: each has a leader of its own, and so they are spread over the
	// servers.
	logStreams = 8

	// lease is for how long a node counts as alive that says nothing, and renewEach how often it says so.
	lease     = 10 * time.Second
	renewEach = time.Second

	// storeTime bounds how long a call of the store may take. The core asks again after a second, so a later answer is of no use.
	storeTime = 5 * time.Second

	// snapshotRate is how many bytes of a snapshot the slowest store takes or gives in a second, beyond storeTime: 10 MiB may take 15 s to read.
	snapshotRate = 1 << 20

	// readEach is how long a snapshot that is read may bring nothing until it is read once more beside: its answers may be lost.
	readEach = 900 * time.Millisecond

	// sayEach is how often a node says of a room that its snapshots fail.
	sayEach = time.Minute

	// appendTime bounds an append: behind it comes the next try.
	appendTime = 900 * time.Millisecond

	// prepareEach is how often a node tries to have its streams, until the cluster has enough nodes, and prepareTime bounds a try: while nobody leads, NATS
	// gives no answer.
	prepareEach = 250 * time.Millisecond
	prepareTime = 2 * time.Second

	// electAfter and electBy are between which times a replica misses its leader, in a server of NATS in this process, and beatEach how often a leader
	// says that it is there. All are half of what NATS has: a process that stands still for 2 s loses what it leads, and gets it back.
	electAfter = 2 * time.Second
	electBy    = 4500 * time.Millisecond
	beatEach   = 500 * time.Millisecond

	// pingEach is how often a node asks its NATS whether it is there, and maxPings how many may be unanswered when it asks again: one of the operator's
	// that stands still without closing its connections is left for another after 6 s.
	pingEach = 2 * time.Second
	maxPings = 2

	// syncEach is how often a server of NATS in this process syncs its disk, if not with each entry: as servers without a cluster do. NATS has two minutes.
	syncEach = time.Second

	// mendEach is how often a node looks after its server of NATS, and tryBytes what its disk must take before the server is started again. A disk
	// that fails again has it started at most each restartEach: a start costs the other nodes an election.
	mendEach    = 5 * time.Second
	restartEach = 30 * time.Second
	tryBytes    = 4 << 20

	// maxMemory and maxStore bound what an embedded server of NATS keeps in memory and on disk. Logs are on disk.
	maxMemory = 64 << 20
	maxStore  = 64 << 30

	// maxSnapshot bounds a snapshot that is read: a room of 30,000 entities has some 10 MiB.
	maxSnapshot = 256 << 20

	// maxName bounds a name in a subject or a key: a room's has 32 bytes, an account's and a prefix fewer than 255.
	maxName = 255

	// callTime bounds a call of an owner's, with all its tries: a leader of NATS is elected in 4 to 9 s, where it is the operator's. tryEach is between tries.
	callTime = 15 * time.Second
	tryEach  = 50 * time.Millisecond

	// markerTime is how long a bucket tells that a key is gone. Who has missed it sees that the key is not in the list.
	markerTime = 10 * time.Minute

	// spentLonger is for how long a ticket stays spent after it has expired, and a ban kept after it has ended: clocks of nodes differ.
	spentLonger = time.Minute

	// maxTokens bounds the tokens that are under way to the store at once. 1,000 players who come back in one second are four rounds.
	maxTokens = 256

	// maxTold bounds what a follower of a bucket has not read. Beyond it NATS drops, and the follower reads the list.
	maxTold = 1024

	// checkEach is how often a follower of a bucket asks whether it has missed something, and listEach how often it reads all.
	checkEach = 5 * time.Second
	listEach  = time.Minute

	// maxNodes bounds the nodes that a node keeps in mind.
	maxNodes = 1024

	// leaveTime bounds how long a node that ends waits until it has said so.
	leaveTime = 200 * time.Millisecond

	// askTime bounds a question to other nodes. maxAnswering bounds the questions of a topic that a node answers at a time, maxPart the bytes
	// of one message of an answer, as NATS takes 1 MiB, and maxAnswer those of an answer: 100,000 players of 200 bytes have 20 MB.
	askTime      = 2 * time.Second
	maxAnswering = 32
	maxPart      = 512 << 10
	maxAnswer    = 32 << 20

	// maxLogLines bounds what the server of NATS in this process writes to the log in each logSpan.
	maxLogLines = 20
	logSpan     = 30 * time.Second

	// moveTime bounds how long MoveRoom waits until a room's entries are made elsewhere, which is longer than its snapshot is waited for, and
	// moveLook is how often it looks.
	moveTime = 8 * time.Second
	moveLook = 150 * time.Millisecond

	// tlsSeconds bounds the handshake of a connection between nodes.
	tlsSeconds = 5

	// dedupe is for how long the store knows the number of a message: longer than an append is repeated.
	dedupe = 2 * time.Minute

	// settleTime bounds how long a server that starts waits for the cluster to have enough nodes.
	settleTime = time.Minute

	// maxPeers and maxPeersBytes bound the messages between participants of a room that this node has not read. Beyond it NATS drops, and what is
	// reliable comes again.
	maxPeers      = 4096
	maxPeersBytes = 8 << 20
)
