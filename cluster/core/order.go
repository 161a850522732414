package core

// An Order is what the room wants done. Bytes are valid until the order after the next is polled, unless the kind says otherwise.
type Order struct {
	Kind     OrderKind
	Seq      uint64 // of Append, Fetch, Save and Purge
	Tick     uint64 // of Save
	Epoch    uint64 // of Bid
	Revision uint64 // of Bid
	Bytes    []byte
}

// An OrderKind says what an order wants.
type OrderKind uint8

const (
	// Append wants Bytes at the end of the room's log, if the log's last entry is Seq. Hand in what became of it with HandleAppended,
	// HandleRefused, or nothing if nothing is known. Bytes are valid until then.
	Append OrderKind = iota + 1
	// Fetch wants the first entry behind Seq: hand it in with HandleFetched.
	Fetch
	// Look wants the room's record: hand it in with HandleRecord.
	Look
	// Bid wants the record to be this node's with Epoch, if its revision is still Revision: hand in what it is then with HandleRecord.
	Bid
	// Ask wants Bytes, a batch, brought to the sequencer's HandleBatch. It may be lost.
	Ask
	// Load wants the newest snapshot: hand it in with HandleSnapshot.
	Load
	// Save wants Bytes kept as the snapshot behind entry Seq, of the world before Tick.
	Save
	// Stop says that this node's stage of the room is of no use any more: its players are to be sent elsewhere. It is the last order.
	Stop
)

var orderNames = [...]string{"unset", "append", "fetch", "look", "bid", "ask", "load", "save", "stop"}

func (k OrderKind) String() string {
	if int(k) < len(orderNames) {
		return orderNames[k]
	}
	return "invalid"
}

// A Record says who sequences a room. The store keeps it, and changes it only for who knows its revision.
type Record struct {
	Node     uint64 // 0 if nobody ever did
	Epoch    uint64
	Revision uint64
}

// A Head is the beginning of an entry.
type Head struct {
	Tick  uint64
	Epoch uint64
	Node  uint64
	Due   int64 // Unix µs
}

// World is a room's world on this node. The core calls it, and nobody else does meanwhile.
type World interface {
	// Next returns the tick of the next entry. Epoch is the highest of the entries that were run, and Due the last one's.
	Next() uint64
	Epoch() uint64
	Due() int64

	// Awake reports whether the room wants ticks: somebody is there, or something is not final yet.
	Awake() bool

	// Done returns the newest request of a node that was run.
	Done(node uint64) uint64

	// Take puts a request into the entry of the next tick. It returns false if the entry takes no more. A request that is refused has
	// its answer in the entry.
	Take(node, number uint64, body []byte) bool

	// Seal makes the entry of the next tick. It is valid until Advance or Load.
	Seal(due int64, epoch, skipped uint64) []byte

	// Advance runs the sealed tick, and tells the players of this node.
	Advance()

	// Head reads the beginning of an entry.
	Head(entry []byte) (Head, error)

	// Apply runs an entry, and tells the players of this node. After an error the world is loaded anew.
	Apply(entry []byte) error

	// Snapshot returns the state. Load makes the world that of a snapshot, or of the room's beginning if there is none. What was
	// taken or sealed and not run is forgotten.
	Snapshot() []byte
	Load(snapshot []byte) error
}
