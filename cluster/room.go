package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"parley/cluster/core"
	"parley/world"
)

// RoomConfig sets up this node's part of a room.
type RoomConfig struct {
	// Log is the name of the room's log, if that is not the room's: a room that ended and came again must not find what is left of the one before.
	Log string

	Period time.Duration // of a tick
	World  core.World

	// Run has the room's owner call fn, soon, on the one goroutine that calls World and the Room. Calls are in order. Run may block until the
	// owner has room for one more. It returns false if the owner has ended, and then fn is not called.
	Run func(fn func()) bool

	// Here, if set, is called with what another node says of its players. Stopped, if set, is called when this node's stage is of no use any
	// more: the players are to be sent elsewhere. The error is ErrDiverged, a *FingerprintError, or what this node cannot read. The owner's goroutine
	// calls both.
	Here    func(b []byte)
	Stopped func(why error)

	// Differs, if set, is called when the world's state before a tick was not that of the log: with its snapshot, and one of the sequencer of a few
	// ticks later, nil if none came. They are for people to look at: the room goes on from the latter. The owner's goroutine calls it.
	Differs func(tick uint64, mine, theirs []byte)

	// Hash, if set, returns the hash of the world's state, for Status. The owner's goroutine calls it.
	Hash func() uint64
}

// ErrDiverged means that this node's stage computes otherwise than the others.
var ErrDiverged = world.ErrDiverged

// Room is this node's part of a room. Its methods are for the owner's goroutine.
type Room struct {
	shelf
	log     string
	cfg     RoomConfig
	core    *core.Room
	timer   *time.Timer
	told    *nats.Subscription
	here    *nats.Subscription
	asks    *nats.Subscription // while this node sequences
	ctx     context.Context
	cancel  context.CancelFunc
	stopped bool
	fits    atomic.Bool // the room is of this node's schema

	mu      sync.Mutex
	calls   sync.WaitGroup
	ended   bool // nothing is called any more
	seen    seen
	pending pending
}

// Open begins this node's part of a room: it loads the world, follows the log, and makes entries when it is the sequencer. Call it on
// the owner's goroutine, or before that runs.
func (n *Node) Open(name string, c RoomConfig) (*Room, error) {
	log := cmp.Or(c.Log, name)
	key, err := token(log)
	if err != nil {
		return nil, err
	}
	r := &Room{shelf: shelf{node: n, name: name, key: key}, log: log, cfg: c}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.rooms == nil:
		return nil, errClosed
	case n.rooms[log] != nil:
		return nil, fmt.Errorf("cluster: room %q is open on this node: close it first", name)
	}
	r.ctx, r.cancel = context.WithCancel(n.ctx)
	random := mathrand.New(mathrand.NewPCG(n.id, uint64(time.Now().UnixNano())))
	r.core = core.NewRoom(time.Now(), core.Config{Node: n.id, Period: c.Period, Batch: n.cfg.Batch, Rand: random}, c.World)
	r.timer = time.AfterFunc(time.Hour, func() { r.post(func() { r.core.HandleTimeout(time.Now()) }) })
	r.told, err = n.conn.Subscribe("parley.told."+key, r.handleTold)
	if err == nil && c.Here != nil {
		r.here, err = n.conn.Subscribe("parley.here."+key, func(m *nats.Msg) { r.post(func() { c.Here(m.Data) }) })
	}
	if err != nil {
		r.cancel()
		r.unsubscribe()
		return nil, fmt.Errorf("cluster: room %q: %w", name, err)
	}
	n.rooms[log] = r
	if n.about.Draining {
		r.core.Drain(time.Now())
	}
	r.timer.Reset(0)
	return r, nil
}

var errClosed = errors.New("cluster: the node is closed")

// Close ends this node's part of the room.
func (r *Room) Close() {
	if r.stopped {
		return
	}
	r.note()
	r.stopped = true
	n := r.node
	n.mu.Lock()
	if n.rooms[r.log] == r {
		delete(n.rooms, r.log)
		add(&n.stats.Stats, r.seen.stats)
	}
	n.mu.Unlock()
	r.cancel()
	r.unsubscribe()
	if r.asks != nil {
		_ = r.asks.Unsubscribe()
	}
}

// end ends what is under way, and waits for it. Any goroutine but the owner's may call it.
func (r *Room) end() {
	r.cancel()
	r.unsubscribe()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.calls.Wait()
}

// spawn runs fn, which ends when the room's context does. After the end nothing is run.
func (r *Room) spawn(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.calls.Go(fn)
	}
}

func (r *Room) unsubscribe() {
	r.timer.Stop()
	for _, s := range []*nats.Subscription{r.told, r.here} {
		if s != nil {
			_ = s.Unsubscribe() // the connection may be closed
		}
	}
}

// Ask asks for something on behalf of a player of this node, and returns the request's number. See core.Room.Ask.
func (r *Room) Ask(body []byte) (uint64, error) {
	number, err := r.core.Ask(time.Now(), body)
	r.turn()
	return number, err
}

// Move gives the room to another node that has a stage of it, or will have. It returns false if this node does not make the room's entries.
func (r *Room) Move(node uint64) bool {
	ok := r.core.Move(time.Now(), node)
	r.turn()
	return ok
}

// Tell tells the other nodes of the room something that is not in the log.
func (r *Room) Tell(b []byte) { _ = r.node.conn.Publish("parley.here."+r.key, b) }

// Sequences reports whether this node makes the room's entries.
func (r *Room) Sequences() bool { return r.core.Sequences() }

// Current reports whether the node has run all of the room's log that it knows of.
func (r *Room) Current() bool { return r.core.Current() }

// Ahead returns how many of the last ticks were run that the log does not have yet.
func (r *Room) Ahead() int { return r.core.Ahead() }

// Stats returns the counters of the room's core.
func (r *Room) Stats() core.Stats { return r.core.Stats() }

// Behind returns how many entries this node knows of and has not run.
func (r *Room) Behind() int { return r.core.Behind() }

// post has the owner do something with the room, and then what the core orders.
func (r *Room) post(fn func()) {
	if r.ctx.Err() != nil {
		return
	}
	r.cfg.Run(func() {
		if r.stopped || r.ctx.Err() != nil {
			return
		}
		fn()
		r.turn()
	})
}

// turn does what the core orders, and sets the timer.
func (r *Room) turn() {
	if r.stopped {
		return
	}
	for o, ok := r.core.Poll(); ok; o, ok = r.core.Poll() {
		r.carryOut(o)
		if r.stopped {
			return
		}
	}
	r.listen()
	r.note()
	if next, ok := r.core.NextTimeout(); ok {
		r.timer.Reset(max(time.Until(next), 100*time.Microsecond))
	}
}

// listen takes requests while this node is the sequencer.
func (r *Room) listen() {
	switch on := r.core.Sequences(); {
	case on && r.asks == nil:
		r.asks, _ = r.node.conn.Subscribe("parley.room."+r.key, func(m *nats.Msg) {
			r.post(func() { r.core.HandleBatch(time.Now(), m.Data) })
		})
	case !on && r.asks != nil:
		_ = r.asks.Unsubscribe()
		r.asks = nil
	}
}

// handleTold takes an entry that the store has told all nodes.
func (r *Room) handleTold(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	prev, err2 := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
	if err != nil || err2 != nil {
		return
	}
	r.post(func() { r.core.HandleTold(time.Now(), seq, prev, m.Data) })
}

// carryOut brings an order to the store. The answer comes back by post.
func (r *Room) carryOut(o core.Order) {
	switch o.Kind {
	case core.Ask:
		_ = r.node.conn.Publish("parley.room."+r.key, o.Bytes) // it comes again
	case core.Differ:
		r.node.cfg.Log.Error("the state of a room was not that of its log; the stage goes on from the sequencer's", "room", r.name, "tick", o.Tick)
		if r.cfg.Differs != nil {
			r.cfg.Differs(o.Tick, o.Bytes, o.Theirs)
		}
	case core.Stop:
		r.stop(fmt.Errorf("cluster: room %q: %w", r.name, o.Err))
	default:
		if o.Kind == core.Append { // the world makes the next one in the same place
			o.Bytes = append([]byte(nil), o.Bytes...)
		}
		if r.begins(time.Now(), o) {
			r.spawn(func() {
				for next := &o; next != nil; {
					answer := r.call(*next)
					if next = r.ends(o.Kind); answer != nil {
						r.post(answer)
					}
				}
			})
		}
	}
}

// stop ends a stage that is of no use. The owner calls it.
func (r *Room) stop(why error) {
	if r.stopped {
		return
	}
	r.node.cfg.Log.Error("this node's stage of a room is stopped", "room", r.name, "err", why)
	r.node.count(func(s *Stats) { s.Stopped++ })
	r.Close()
	if r.cfg.Stopped != nil {
		r.cfg.Stopped(why)
	}
}

// call has the store do something, and returns how the core is told. What is not answered the core asks again.
func (r *Room) call(o core.Order) (answer func()) {
	limit := storeTime // for what a Load asks before it reads
	switch o.Kind {
	case core.Append:
		limit = appendTime
	case core.Save:
		limit = timeFor(2 * int64(len(o.Bytes))) // it is read back
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	select {
	case <-r.node.ready:
	case <-ctx.Done():
		return nil
	}
	if !r.fits.Load() && !r.check(ctx) {
		return nil
	}
	answer, err := r.store(ctx, o)
	if err != nil {
		if r.ctx.Err() == nil {
			r.node.count(func(s *Stats) { s.Unanswered++ })
			r.fails(o, err)
		}
		return nil
	}
	return answer
}

// check reports whether the room is of this node's schema. One that is not in the directory is its owner's affair.
func (r *Room) check(ctx context.Context) bool {
	l, there, err := r.node.listing(ctx, r.name)
	if err != nil {
		return false
	}
	if has := r.node.fingerprint(); there && l.Fingerprint != has {
		r.post(func() { r.stop(&FingerprintError{Room: r.name, Has: l.Fingerprint, Node: has}) })
		return false
	}
	r.fits.Store(true)
	return true
}
