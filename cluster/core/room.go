package core

import (
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Config sets up a Room.
type Config struct {
	Node   uint64        // tells this run of this node from all others
	Period time.Duration // of a tick
	Rand   *rand.Rand

	// Batch is for how long a room whose players are all on the sequencer's node is run before what was run is appended, in one message. If
	// that node dies, or another node becomes the sequencer, up to twice as much is lost. Default: each tick is appended before it is run.
	Batch time.Duration
}

// role is what a node is to a room.
type role uint8

const (
	loading    role = iota + 1 // the world is to be made of a snapshot and the log
	following                  // a stage
	bidding                    // a stage that wants to be the sequencer
	sequencing                 // it makes the entries
	catching                   // the room is its own, and it runs what the log has before it makes an entry
	giving                     // it has made its last entry, and the record is to say another node
	stopped                    // nothing is done any more
)

// Room is one node's part of a room.
type Room struct {
	cfg   Config
	world World
	role  role
	stats Stats

	record  Record
	epoch   uint64    // with which it sequences
	reached uint64    // the highest epoch that the log has: an entry of a lower one is void
	seq     uint64    // the last entry of the log that was run, or was void
	heard   time.Time // when an entry was run, or the room began to want ticks
	awake   bool      // it wanted ticks when it was looked at last

	out outbox
	in  inbox

	backlog      []told // messages ahead of a gap, by seq
	backlogBytes int
	fetching     bool      // a Fetch, Load, Look or Bid is out
	wanted       OrderKind // which
	askedAt      time.Time // when
	missing      bool      // the log has more than was run
	newest       uint64    // the last entry that was told
	gap          uint64    // 1 more than the entry behind which entries were missing, also in the newest snapshot
	met          bool      // since the world was loaded, it has run what was told, or come to the log's end

	ahead   ahead
	company time.Time // when another node was heard that has a stage of the room
	hello   time.Time // when this one says again that it has
	parts   [][]byte  // scratch: the entries of a message

	flight   []byte        // the message that was offered to the log; nil if none is
	offered  time.Time     // when
	refused  bool          // since
	soon     time.Duration // after which it was offered again last, when it was refused
	lost     time.Time     // when the store had no entry at all, though it had the one that the message follows; zero if it has
	doubt    uint64        // 1 more than the message behind which another was offered that was given up since: it may still get into the log
	nextTick time.Time     // when the next entry is due
	nextBid  time.Time
	nextSave time.Time

	draining bool // it makes no entries any more, if it can help it
	moving   bool // the room is to be given away
	heir     uint64
	moveBy   time.Time // when it is given away without a snapshot
	saving   uint64    // the entry behind which a snapshot is on its way
	savingOf uint64    // its tick
	saved    bool

	diverged []time.Time // and what else it could not run
	differs  *differs    // the state was another than the log's, and the sequencer's is awaited
	kept     uint64      // the tick of the newest snapshot that this sequencer knows to be kept
	nextKept time.Time

	orders []Order
	batch  bool // an Ask is in orders: there is at most one
}

type told struct {
	seq, prev uint64
	entry     []byte
}

// Stats counts what a Room has done.
type Stats struct {
	Ran        uint64 // entries of others that were run
	Made       uint64 // entries of this node that are in the log
	Ahead      uint64 // entries of this node that were run before the log had them
	Undone     uint64 // those that were lost with that: the log may not have them
	Void       uint64 // messages of an epoch that is over
	Fetched    uint64 // messages that were not told
	Elections  uint64 // bids that were won
	LostBids   uint64
	Given      uint64 // rooms that were given to another node
	Taken      uint64 // rooms that another node gave to this one
	Refused    uint64 // appends
	Repeated   uint64 // appends that were not answered, and offered again
	Reasked    uint64 // how often requests that the log did not have in time were sent again
	Deposed    uint64
	Loaded     uint64 // snapshots
	Diverged   uint64 // entries that were made for another state than this node had
	Complaints uint64 // of other nodes that have diverged, for which a snapshot was saved
	Malformed  uint64 // batches and entries that could not be read
	Dropped    uint64 // entries ahead of a gap that were not kept
	SkippedFor uint64 // ticks that passed without an entry
}

// NewRoom returns a node's part of a room. It begins by loading the room.
func NewRoom(now time.Time, c Config, w World) *Room {
	r := &Room{cfg: c, world: w, heard: now, hello: now}
	r.load(now)
	return r
}

// Sequences reports whether this node makes the entries of the room.
func (r *Room) Sequences() bool { return r.role == sequencing || r.role == catching }

// Waiting returns how many requests of this node's players the log does not have yet.
func (r *Room) Waiting() int { return len(r.out.list) }

// Behind returns how many entries the node knows of and has not run.
func (r *Room) Behind() int { return len(r.backlog) }

// Current reports whether the node has run all of the log that it knows of.
func (r *Room) Current() bool { return r.met && r.seq >= r.newest && r.role != stopped }

// Ahead returns how many of the last ticks were run that the log does not have yet.
func (r *Room) Ahead() int { return r.ahead.count + r.ahead.flying }

// Seq returns the place in the log of the last entry that was run.
func (r *Room) Seq() uint64 { return r.seq }

// Record returns the newest record that is known.
func (r *Room) Record() Record { return r.record }

// Stats returns the counters.
func (r *Room) Stats() Stats {
	s := r.stats
	s.Reasked = r.out.rounds
	return s
}

// Ask asks for something on behalf of a player of this node, and returns the request's number, which is that of its origin in the log. The
// error is ErrBusy.
func (r *Room) Ask(now time.Time, body []byte) (uint64, error) {
	n, err := r.out.add(now, body)
	if err == nil && r.role == sequencing {
		r.putOwn()
		if !r.awake {
			r.wake(now)
		}
	}
	return n, err
}

// Poll returns the next order.
func (r *Room) Poll() (Order, bool) {
	if len(r.orders) == 0 {
		return Order{}, false
	}
	o := r.orders[0]
	if r.orders = r.orders[1:]; len(r.orders) == 0 {
		r.orders = nil
	}
	if o.Kind == Ask {
		r.batch = false
	}
	return o, true
}

func (r *Room) order(o Order) { r.orders = append(r.orders, o) }

// want orders something that has one answer, and orders it again until that has come.
func (r *Room) want(now time.Time, o Order) {
	r.fetching, r.wanted, r.askedAt = true, o.Kind, now
	r.order(o)
}

// answered reports whether an answer is to what was wanted last.
func (r *Room) answered(k OrderKind) bool {
	if !r.fetching || r.wanted != k {
		return false
	}
	r.fetching = false
	return true
}

// HandleTimeout does what is due.
func (r *Room) HandleTimeout(now time.Time) {
	if r.role == stopped {
		return
	}
	r.look(now)
	if r.fetching && !now.Before(r.askedAt.Add(repeatStore)) {
		r.repeat(now)
	}
	switch r.role {
	case sequencing:
		r.sequence(now)
	case following:
		r.mayBid(now)
	}
	if !r.batch && !r.Sequences() {
		r.ask(now)
	}
}

// ask sends a batch of requests, or one of none: so the sequencer knows that this node has a stage.
func (r *Room) ask(now time.Time) {
	if r.differs != nil && !now.Before(r.hello) {
		r.complain(now)
		return
	}
	b, ok := r.out.take(now, r.cfg.Node)
	if !ok && now.Before(r.hello) {
		return
	}
	if r.differs == nil {
		r.hello = now.Add(helloEach)
	}
	if !ok {
		b = binary.LittleEndian.AppendUint64(nil, r.cfg.Node)
	}
	r.batch = true
	r.order(Order{Kind: Ask, Bytes: append([]byte(nil), b...)})
}

// look notes when the room begins to want ticks: silence counts from then.
func (r *Room) look(now time.Time) {
	if awake := r.role != loading && (r.world.Awake() || len(r.out.list) > 0 && r.role != sequencing); awake != r.awake {
		if r.awake = awake; awake {
			r.heard = now
		}
	}
}

// repeat asks again for what has not come.
func (r *Room) repeat(now time.Time) {
	switch r.wanted {
	case Fetch:
		r.fetch(now)
	case Load:
		r.want(now, Order{Kind: Load})
	case Look:
		r.want(now, Order{Kind: Look})
	case Bid: // whether it was won is in the record
		r.want(now, Order{Kind: Look})
	}
}

// NextTimeout returns when HandleTimeout is to be called.
func (r *Room) NextTimeout() (time.Time, bool) {
	if r.role == stopped {
		return time.Time{}, false
	}
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if r.fetching {
		at(r.askedAt.Add(repeatStore))
	}
	switch r.role {
	case sequencing:
		switch {
		case r.flight != nil:
			if !r.fetching { // else what is fetched decides
				at(r.offered.Add(repeatStore))
			}
		case r.ahead.some():
			at(r.ahead.since.Add(r.cfg.Batch))
		case r.moving:
			at(r.moveBy)
		}
		if (r.awake || r.in.some()) && !r.fetching && !r.waits(r.nextTick) {
			at(r.nextTick)
		}
	case following:
		if r.awake && !r.fetching && !r.draining {
			at(r.bidAt())
		}
	}
	if !r.Sequences() {
		at(r.out.due)
		at(r.hello)
	}
	return next, !next.IsZero()
}
