package picture

import "time"

// What a server can make a client keep. Each bound is on what a hostile server sends, and far above what ours do.
const (
	// maxTracks bounds the entities that are known at a time. Further ones are not drawn. With the samples of each that is at most 64 MiB.
	maxTracks = 4096

	// maxSamples bounds the samples of an entity, and maxValues the values in them. Others are drawn a few ticks in the past, so that a
	// handful is in use; at a high tick rate it is as many as come in the delay. The oldest goes for the next.
	maxSamples = 64
	minSamples = 8
	maxValues  = 512

	// maxEvents bounds the events that nobody has asked for yet. The oldest goes for the next.
	maxEvents = 1024

	// maxText bounds a line of chat, and maxName a name. What is longer is cut.
	maxText = 4096
	maxName = 255

	// maxNames bounds the names that are known. Further ones are not.
	maxNames = 4096

	// maxInputs bounds the inputs whose fate is not known. The oldest goes for the next: a server that tells no fates gets no
	// more than that.
	maxInputs = 128

	// maxBorn bounds what own actions have created and the server has not told of, and maxOwned that together with what it has told of, which
	// is drawn ahead of the server until it is gone. Further ones are drawn when the server tells of them.
	maxBorn  = 64
	maxOwned = 256

	// maxPackets bounds the packets of values of replica that wait for the message that says which tick they are of.
	maxPackets = 64

	// maxChunks bounds the chunks of terrain that wait for the next frame, at 64 KiB each. Further ones are not drawn.
	maxChunks = 64

	// maxRun bounds the ticks that are run at once, so that a server cannot make a client compute for long: a client whose own tick
	// jumps further goes on from the newest that it was told.
	maxRun = 64
)

// How a client behaves.
const (
	// minRate and maxRate bound the tick rate that a server may tell.
	minRate = 1
	maxRate = 1000

	// steersATick bounds the steers of one tick that are sent one by one: with a mouse there may be one a frame. The last of a tick
	// is sent in any case, with the next tick.
	steersATick = 4

	// repeatSteers bounds how often a steer is sent that another has replaced. Its effect lasted until then, so it should arrive.
	repeatSteers = 3

	// probesASecond is how often an input is sent by a client that neither steers nor acts, so that its margin stays known.
	probesASecond = 10

	// patientCalls is after how many ticks without a fate a client calls less often: its server or its path has none.
	patientCalls = 40

	// graceTicks is how many ticks after the fate of an action the server's entity may come into sight.
	graceTicks = 5

	// snapTicks is how many ticks' way at the greatest speed of its kind a body may be off and be blended to where it is.
	snapTicks = 2.5

	// askAgain is how long a client of realm waits for terrain before it asks for it again.
	askAgain = 2 * time.Second

	// unknownOwn is for how long after the connection was made events wait for the own entity to be told. A player without one is told no ticks
	// by which to count, as it sends no inputs.
	unknownOwn = 2 * time.Second

	// valuesWait is how long the values of a tick may come after the message that names the tick, which is in the same datagram.
	valuesWait = 5 * time.Millisecond
)
