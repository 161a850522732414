package datagram

import "time"

// Limits of loops and batches.
const (
	// sendArenaBytes bounds the payload bytes that wait in one SendBatch.
	sendArenaBytes = 256 << 10

	// maxSendDatagrams bounds the datagrams in one SendBatch: 16 full GSO
	// groups, 48 KiB of bookkeeping.
	maxSendDatagrams = 1024

	// defaultTurnDatagrams bounds the datagrams that one turn of a loop handles before timers, commands and events
	// run. A sender at full speed goes on while the rest of its train is handled, as the acknowledgements go out after each
	// turn. The bundles of so many datagrams hold no more packets than a connection of replica has room for.
	defaultTurnDatagrams = 32

	// MaxTurnTransmits bounds the datagrams that one turn sends, for a core that
	// always has one more.
	MaxTurnTransmits = 4096

	// MaxVisitTransmits bounds the datagrams that a visitor sends itself, a third of a
	// millisecond of its time. The loop sends the rest, on its own core.
	MaxVisitTransmits = 128

	// MaxFinalTurns bounds what a closing loop still sends: a core that never
	// runs dry cannot keep it open.
	MaxFinalTurns = 16

	// defaultCommands bounds the commands that wait for a loop.
	defaultCommands = 1024

	// MaxStuckTurns is how many turns in a row a core may ask for a time that has passed
	// while nothing happens. After that each turn is StuckPause apart: a core's bug makes
	// timers late, but does not use a whole CPU.
	MaxStuckTurns = 1000
	StuckPause    = time.Millisecond
)
