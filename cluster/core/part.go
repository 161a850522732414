package core

import "time"

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

	// Differs, if set, is called when the world's state before a tick was not that of the log: with its snapshot, and one of the sequencer of a few
	// ticks later, nil if none came. They are for people to look at, and must not be changed. It must not take long.
	Differs func(tick uint64, mine, theirs []byte)
}

// A Part is a node's part in a room. Its methods are called as World's are.
type Part interface {
	// Ask asks for something on behalf of a player of this node, and returns the request's number, which is that of its origin in the log.
	Ask(body []byte) (number uint64, err error)

	// Tell tells the other nodes of the room something that is not in the log. It may be lost.
	Tell(b []byte)

	// Sequences reports whether this node makes the room's entries.
	Sequences() bool

	// Current reports whether the node has run all of the log that it knows of.
	Current() bool

	// Ahead returns how many of the last ticks were run that the log does not have yet.
	Ahead() int

	// Move has this node give the room to another that has a stage of it, or, with 0, to the one that asks first. It returns false if this node does not
	// make the entries.
	Move(node uint64) bool

	// Close ends this node's part in the room.
	Close()
}

// Peers is the way of messages between participants of a room on different nodes. Any goroutine may call its methods.
type Peers interface {
	// Tell sends a message to all nodes that hear. It may be lost, and does not keep b.
	Tell(b []byte)

	// Close ends it.
	Close()
}
