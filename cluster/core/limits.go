package core

import "time"

// What the cluster's page settles.
const (
	// silence is how long a stage waits for an entry of a room that should have some before it bids for the room.
	silence = 2 * time.Second

	// repeatAsk is when requests that the log does not have yet are sent again, with the same numbers.
	repeatAsk = 200 * time.Millisecond

	// gather is how long requests of a node wait for others, so that a node sends at most one batch a millisecond.
	gather = time.Millisecond

	// snapshotEach is how often the sequencer saves a snapshot.
	snapshotEach = 30 * time.Second
)

// Ours.
const (
	// repeatStore is when what was asked of the store is asked again, byte for byte: an answer may be lost, and an append that was done
	// is known by its place in the log.
	repeatStore = time.Second

	// repeatSoon is when an append is offered again that was refused though the log has nothing in its place: a try of it whose answer is late is
	// still in process. It doubles up to repeatStore, so that a store that stands still is asked 6 times more.
	repeatSoon = 20 * time.Millisecond

	// emptyFor is how long the store must say that it has no entry at all of a room that has run some, before the log is begun anew behind them. It is
	// shorter than silence: a sequencer that is deposed first loads the newest snapshot, which may be older than what it has run.
	emptyFor = time.Second

	// moveTime is how long a sequencer that gives its room away waits for its snapshot to be kept. It is needed only by a node that has no
	// stage of the room, and an older one does as well.
	moveTime = 5 * time.Second

	// helloEach is how often a stage says that it is there, and aloneAfter how long the sequencer believes that others are without a word
	// of them. Only what a dead node loses depends on it, and when others see a tick.
	helloEach  = time.Second
	aloneAfter = 5 * time.Second

	// bidSpread spreads the bids of stages that have heard nothing for equally long, so that seldom two bid at once. It is arbitrary:
	// with 30 stages and a store that answers in 20 ms two meet in every second try, and one of them wins all the same.
	bidSpread = time.Second

	// MaxWaiting bounds the requests of a node that wait for the log. While the log stands still, a player who asks for more is refused,
	// and the memory of a node does not grow with the length of the trouble.
	MaxWaiting = 4096

	// MaxWaitingBytes bounds their bytes: a request may have 512 bytes of chat.
	MaxWaitingBytes = 1 << 20

	// maxBatch bounds the requests of a batch, and maxBatchBytes their bytes: a message of NATS may have 1 MiB.
	maxBatch      = 512
	maxBatchBytes = 256 << 10

	// maxAhead bounds the requests of a tick that the sequencer has taken from one node, so that one node cannot fill all entries.
	maxAhead = 1024

	// maxAheadBytes bounds the entries that are run before one message takes them to the log, but for the last of them: with one of the
	// largest size, 512 KiB, the message is below the 1 MiB of NATS.
	maxAheadBytes = 256 << 10

	// maxBacklog bounds what was told ahead of a gap and is held until the gap is filled, and maxBacklogBytes its bytes. Beyond them the
	// newest are dropped: they are fetched in their turn.
	maxBacklog      = 256
	maxBacklogBytes = 8 << 20

	// complainFor is how long a stage that has diverged waits for the sequencer's state, which it asks for each complainEach. It stands still
	// meanwhile. keptEach is how often the sequencer saves one for such stages at most, however many complain: one may have 10 MiB.
	complainFor  = 3 * time.Second
	complainEach = 500 * time.Millisecond
	keptEach     = time.Second

	// reloadAfter is how long a stage waits that has just loaded the world and cannot go on from it: of what it cannot run the store would be asked
	// as fast as it answers.
	reloadAfter = time.Second

	// maxDiverged is how many divergences, and entries that it cannot run, within divergedSpan stop a stage for good: its machine computes otherwise
	// than the others.
	maxDiverged  = 3
	divergedSpan = time.Minute
)
