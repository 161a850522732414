package core

import "parley/world"

// An Order is what the room wants done. Bytes are valid until the order after the next is polled, unless the kind says otherwise.
type Order struct {
	Kind     OrderKind
	Seq      uint64 // of Append, Fetch and Save
	Anew     bool   // of Append
	Tick     uint64 // of Save and Differ
	Node     uint64 // of Bid
	Epoch    uint64 // of Bid
	Revision uint64 // of Bid
	Bytes    []byte
	Theirs   []byte // of Differ
	Err      error  // of Stop
}

// An OrderKind says what an order wants.
type OrderKind uint8

const (
	// Append wants Bytes at the end of the room's log, if the log's last entry is Seq, or, if it is to begin anew, if the log has none. Hand in what became
	// of it with HandleAppended, HandleRefused, HandleLost, or nothing if nothing is known. Bytes are valid until then.
	Append OrderKind = iota + 1
	// Fetch wants the first entry behind Seq: hand it in with HandleFetched.
	Fetch
	// Look wants the room's record: hand it in with HandleRecord.
	Look
	// Bid wants the record to be Node's with Epoch, if its revision is still Revision: hand in what it is then with HandleRecord. Node is
	// this one, or the one that the room is given to; 0 leaves the room to whoever bids first.
	Bid
	// Ask wants Bytes, a batch, brought to the sequencer's HandleBatch. It may be lost.
	Ask
	// Load wants the newest snapshot: hand it in with HandleSnapshot.
	Load
	// Save wants Bytes kept as the snapshot behind entry Seq, of the world before Tick: say with HandleSaved that it is.
	Save
	// Differ says that this node's state before Tick was not that of the log: Bytes is its snapshot, and Theirs is one of the sequencer, of a
	// few ticks later, or nil if none came. A snapshot has the state before the oldest tick that can be rewound to, too. It is for people to
	// look at; the room has told its players nothing of it, and goes on from Theirs.
	Differ
	// Stop says that this node's stage of the room is of no use any more: its players are to be sent elsewhere. Err says why: it has diverged too often,
	// or cannot read what the store has. It is the last order.
	Stop
)

var orderNames = [...]string{"unset", "append", "fetch", "look", "bid", "ask", "load", "save", "differ", "stop"}

func (k OrderKind) String() string {
	if int(k) < len(orderNames) {
		return orderNames[k]
	}
	return "invalid"
}

// A Record says who sequences a room. The store keeps it, and changes it only for who knows its revision.
type Record struct {
	Node     uint64 // 0 if nobody does
	Epoch    uint64
	Revision uint64
}

// World is a room's world on this node. The core calls it, and nobody else does meanwhile.
type World interface {
	// Next returns the tick of the next entry. Epoch, right after Load, is the highest of the entries that were run, and Due the last one's.
	Next() uint64
	Epoch() uint64
	Due() int64

	// Awake reports whether the room wants ticks: somebody is there, or something is not final yet.
	Awake() bool

	// Done returns the newest request of a node that was run or taken.
	Done(node uint64) uint64

	// Take puts a request into the entry of the next tick. It returns false if the entry takes no more. A request that is refused has
	// its answer in the entry.
	Take(node, number uint64, body []byte) bool

	// Seal makes the entry of the next tick. It is valid until Advance or Load.
	Seal(due int64, epoch, skipped uint64) []byte

	// Advance runs the sealed tick, and tells the players of this node.
	Advance()

	// Head reads the beginning of an entry.
	Head(entry []byte) (world.EntryHead, error)

	// Apply runs an entry, and tells the players of this node. The error is world.ErrDiverged if it was made for another state, and
	// then nothing was changed. After an error the world is loaded anew, and after three in a minute the stage stops.
	Apply(entry []byte) error

	// Undone says that the log may not have the last ticks, so many, which were run ahead of it: players were told what has not happened. Load follows.
	Undone(ticks int)

	// Snapshot returns the state; nothing is taken or sealed then. Load makes the world that of a snapshot, or of the room's beginning if
	// there is none. What was taken or sealed and not run is forgotten.
	Snapshot() []byte
	Load(snapshot []byte) error
}
