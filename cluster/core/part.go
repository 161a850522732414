package core

import "time"

// A Cluster is what the owner of rooms needs of a node: package cluster has it over NATS.
type Cluster interface {
	// ID tells this run of this node from all others. No player may know it.
	ID() uint64

	// Settle returns the settings of a room: those of the node that was the first to say some. It waits for the cluster, within bounds.
	Settle(room string, settings []byte) ([]byte, error)

	// Join begins this node's part in a room: it loads the world, follows the log, and makes entries when it is the sequencer.
	Join(room string, c PartConfig) (Part, error)

	// Drain has the node make no entries any more: other nodes do, if there are some.
	Drain()
}

// PartConfig sets up a node's part in a room.
type PartConfig struct {
	Period time.Duration // of a tick
	World  World

	// Run has the room's owner call fn, soon, where nobody else calls World or the Part. Calls are in order. Run may block until the owner
	// has room for one more. It returns false if the owner has ended, and then fn is not called.
	Run func(fn func()) bool

	// Here, if set, is called with what another node has told with Tell, by way of Run. Stopped, if set, is called when this node's stage is of
	// no use any more. Hash, if set, returns the hash of the world's state, for operators.
	Here    func(b []byte)
	Stopped func(why error)
	Hash    func() uint64
}

// A Part is a node's part in a room. Its methods are called as World's are.
type Part interface {
	// Ask asks for something on behalf of a player of this node, and returns the request's number, which is that of its origin in the log.
	Ask(body []byte) (number uint64, err error)

	// Tell tells the other nodes of the room something that is not in the log. It may be lost.
	Tell(b []byte)

	// Sequences reports whether this node makes the room's entries.
	Sequences() bool

	// Close ends this node's part in the room.
	Close()
}
