package core

import (
	"math/rand/v2"
	"time"
)

// Config sets up a Room.
type Config struct {
	Node   uint64        // tells this run of this node from all others
	Period time.Duration // of a tick
	Rand   *rand.Rand
}

// role is what a node is to a room.
type role uint8

const (
	loading    role = iota + 1 // the world is to be made of a snapshot and the log
	following                  // a stage
	bidding                    // a stage that wants to be the sequencer
	sequencing                 // it makes the entries
	catching                   // it has won, and runs what the log has before it makes an entry
	stopped                    // nothing is done any more
)

// Room is one node's part of a room.
type Room struct {
	cfg   Config
	world World
	role  role
	stats Stats

	record Record
	epoch  uint64    // with which it sequences
	seq    uint64    // the last entry of the log that was run, or was void
	heard  time.Time // when an entry was run, or the room began to want ticks
	awake  bool      // it wanted ticks when it was looked at last

	out outbox
	in  inbox

	backlog  []told    // entries ahead of a gap, by seq
	fetching bool      // a Fetch, Load, Look or Bid is out
	wanted   OrderKind // which
	askedAt  time.Time // when
	missing  bool      // the log has more than was run

	flight   []byte    // the entry that was offered to the log; nil if none is
	offered  time.Time // when
	nextTick time.Time // when the next entry is due
	nextBid  time.Time
	nextSave time.Time
	diverged []time.Time

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
	Void       uint64 // entries of an epoch that is over
	Fetched    uint64 // entries that were not told
	Elections  uint64 // bids that were won
	LostBids   uint64
	Refused    uint64 // appends
	Repeated   uint64 // appends that were not answered, and offered again
	Deposed    uint64
	Loaded     uint64 // snapshots
	Diverged   uint64
	Malformed  uint64 // batches and entries that could not be read
	Dropped    uint64 // entries ahead of a gap that were not kept
	SkippedFor uint64 // ticks that passed without an entry
}

// NewRoom returns a node's part of a room. It begins by loading the room.
func NewRoom(now time.Time, c Config, w World) *Room {
	r := &Room{cfg: c, world: w, heard: now}
	r.load(now)
	return r
}

// Sequences reports whether this node makes the entries of the room.
func (r *Room) Sequences() bool { return r.role == sequencing || r.role == catching }

// Behind returns how many entries the node knows of and has not run.
func (r *Room) Behind() int { return len(r.backlog) }

// Seq returns the place in the log of the last entry that was run.
func (r *Room) Seq() uint64 { return r.seq }

// Record returns the newest record that is known.
func (r *Room) Record() Record { return r.record }

// Stats returns the counters.
func (r *Room) Stats() Stats { return r.stats }

// Ask asks for something on behalf of a player of this node, and returns the request's number, which is that of its origin in the log. The
// error is ErrBusy.
func (r *Room) Ask(now time.Time, body []byte) (uint64, error) {
	n, err := r.out.add(now, body)
	if err == nil && r.role == sequencing {
		r.in.put(r.cfg.Node, n, r.world.Done(r.cfg.Node), body)
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
		if b, ok := r.out.take(now, r.cfg.Node); ok {
			r.batch = true
			r.order(Order{Kind: Ask, Bytes: append([]byte(nil), b...)})
		}
	}
}

// look notes when the room begins to want ticks: silence counts from then.
func (r *Room) look(now time.Time) {
	if awake := r.role != loading && (r.world.Awake() || len(r.out.list) > 0); awake != r.awake {
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
		if r.flight != nil {
			at(r.offered.Add(repeatStore))
		} else if r.awake || r.in.some() {
			at(r.nextTick)
		}
	case following:
		if r.awake && !r.fetching {
			at(r.bidAt())
		}
	}
	if !r.Sequences() {
		at(r.out.due)
	}
	return next, !next.IsZero()
}
