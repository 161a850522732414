package core

import (
	"bytes"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// sim is a store and some nodes in virtual time. The store is one machine that does not forget: what JetStream promises of a stream and
// a bucket with three replicas. On the way to it and back anything is late, lost, or comes twice; a node may be cut off, stopped, killed and
// started again, and its clock is wrong.
type sim struct {
	rand   *rand.Rand
	now    time.Duration
	events eventHeap
	count  int
	store  store
	nodes  []*simNode
	down   bool // the store has no quorum
	quiet  bool // players ask for nothing
	loss   float64
	calm   bool // no faults any more

	hashes map[uint64]uint64     // of the log, after each tick
	seen   map[toyRequest]uint64 // the tick in whose entry the log has a request
	told   map[toyRequest]uint64 // the tick in which it was run, as its player was told
	truth  *toy                  // runs what the log has
	gap    time.Duration         // the longest between two entries since it was set to 0
	batch  time.Duration
	undone int
	err    error
}

// early is a tick that a node has run before the log had it.
type early struct {
	at       time.Duration
	tick     uint64
	hash     uint64
	requests []toyRequest
}

type simNode struct {
	sim     *sim
	index   int
	life    int // counts its starts
	id      uint64
	room    *Room
	world   *toy
	cut     bool
	paused  bool
	dead    bool
	drains  bool
	deaf    bool // nothing goes between it and the other nodes, and the store answers
	early   []early
	undone  int // of them, as the core has said
	fell    time.Duration
	company time.Duration // when a batch of another node came
	held    []func()      // what came while it was paused
	skew    time.Duration
	drift   float64
	timer   int // number of the newest
	lastWay time.Duration
	lastRec time.Duration
	asked   uint64 // requests of this life
	differs []Order
	stopped bool
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

func newSim(seed uint64, nodes int, batch time.Duration) *sim {
	s := &sim{rand: rand.New(rand.NewPCG(seed, 78)), hashes: map[uint64]uint64{}, seen: map[toyRequest]uint64{}, told: map[toyRequest]uint64{}, truth: newToy(8), batch: batch}
	for range nodes {
		s.add()
	}
	return s
}

// add starts a node.
func (s *sim) add() *simNode {
	n := &simNode{sim: s, index: len(s.nodes), skew: time.Duration(s.rand.Int64N(int64(4*time.Second))) - 2*time.Second, drift: (s.rand.Float64() - 0.5) / 500}
	s.nodes = append(s.nodes, n)
	n.start()
	return n
}

// kill ends a life of a node.
func (n *simNode) kill() {
	n.life++
	n.paused, n.dead, n.held = true, true, nil
}

func (s *sim) after(d time.Duration, do func()) {
	s.count++
	heap.Push(&s.events, event{s.now + d, s.count, do})
}

// run goes on to a time.
func (s *sim) run(until time.Duration) {
	for s.err == nil && len(s.events) > 0 && s.events[0].at <= until {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.now = until
}

func (s *sim) fail(text string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("at %v: %s", s.now, fmt.Sprintf(text, args...))
	}
}

// way is how long a message takes.
func (s *sim) way() time.Duration {
	d := time.Millisecond/4 + time.Duration(s.rand.ExpFloat64()*float64(2*time.Millisecond))
	if !s.calm && s.rand.IntN(50) == 0 {
		d += time.Duration(s.rand.Int64N(int64(3 * time.Second)))
		if s.rand.IntN(8) == 0 {
			d *= 5
		}
	}
	return d
}

func (s *sim) isLost() bool { return !s.calm && s.rand.Float64() < s.loss }

// start begins a life of a node.
func (n *simNode) start() {
	s := n.sim
	if n.world != nil {
		n.undone = len(n.early) // a life that ends says nothing
		n.settle()
	}
	n.life++
	n.id = uint64(n.index+1)<<32 | uint64(n.life)
	n.asked, n.drains = 0, false
	n.world = newToy(8)
	n.world.ran, n.world.loaded = n.ran, n.settle
	n.world.undone = func(ticks int) { n.undone += ticks }
	n.room = NewRoom(n.clock(), Config{Node: n.id, Period: 50 * time.Millisecond, Batch: s.batch, Rand: rand.New(rand.NewPCG(s.rand.Uint64(), 0))}, n.world)
	n.turn()
}

func (n *simNode) clock() time.Time {
	return time.Unix(1_700_000_000, 0).Add(n.skew + n.sim.now + time.Duration(float64(n.sim.now)*n.drift))
}

// ran checks a tick that was run against the log, and notes what was told to players of this node.
func (n *simNode) ran(t *toy, tick uint64, entry []byte) {
	s := n.sim
	if want, ok := s.hashes[tick]; !ok || want != t.state.hash {
		if s.batch == 0 || n.room.role != sequencing || s.now-n.company < aloneAfter*99/100 {
			s.fail("node %d runs tick %d, which the log does not have, or otherwise", n.index, tick)
		}
		n.early = append(n.early, early{s.now, tick, t.state.hash, requestsOf(entry)})
		return
	}
	for _, r := range requestsOf(entry) {
		n.tell(r, tick)
	}
}

// tell notes what was told to a player of this node. After a load it may be told again, and is the same.
func (n *simNode) tell(r toyRequest, tick uint64) {
	if r.node != n.id {
		return
	}
	if was, ok := n.sim.told[r]; ok && was != tick {
		n.sim.fail("request %d of node %x was told as of tick %d, and again as of tick %d", r.number, r.node, was, tick)
	}
	n.sim.told[r] = tick
}

// settle looks what became of the ticks that the node was ahead of the log, which it is no more: the log has them, or they are lost.
func (n *simNode) settle() {
	s := n.sim
	lost := 0
	for i, e := range n.early {
		switch hash, ok := s.hashes[e.tick]; {
		case ok && hash == e.hash && lost > 0:
			s.fail("node %d has lost tick %d, and the log has %d", n.index, n.early[i-1].tick, e.tick)
		case ok && hash == e.hash:
			for _, r := range e.requests {
				n.tell(r, e.tick)
			}
		default:
			if lost++; lost > int(2*s.batch/(50*time.Millisecond))+1 {
				s.fail("node %d has lost %d ticks", n.index, lost)
			}
		}
	}
	if lost > n.undone {
		s.fail("node %d has lost %d ticks, and says %d", n.index, lost, n.undone)
	}
	s.undone += lost
	n.early, n.undone = n.early[:0], 0
}

// do runs something on the node, in this life of it.
func (n *simNode) do(fn func()) {
	life := n.life
	run := func() {
		if n.life == life {
			fn()
			n.turn()
		}
	}
	if n.paused {
		n.held = append(n.held, run)
		return
	}
	run()
}

// turn does what the room orders, and sets the timer.
func (n *simNode) turn() {
	for steps := 0; ; steps++ {
		o, ok := n.room.Poll()
		if !ok {
			break
		}
		if steps > 100 {
			n.sim.fail("node %d orders without end", n.index)
			return
		}
		n.carryOut(o)
	}
	if n.room.Sequences() {
		n.world.bad = false
	}
	n.timer++
	mine, life := n.timer, n.life
	if next, ok := n.room.NextTimeout(); ok {
		wait := max(next.Sub(n.clock()), 100*time.Microsecond)
		n.sim.after(wait, func() {
			if n.timer == mine && n.life == life {
				n.do(func() { n.room.HandleTimeout(n.clock()) })
			}
		})
	}
}

// carryOut brings an order to the store, and the answer back.
func (n *simNode) carryOut(o Order) {
	s := n.sim
	o.Bytes = bytes.Clone(o.Bytes)
	switch o.Kind {
	case Append:
		n.call(func() func() {
			switch lost := s.store.empty && o.Seq > 0; {
			case lost && !o.Anew:
				newest := uint64(0)
				if k := len(s.store.snapshots); k > 0 {
					newest = s.store.snapshots[k-1].seq
				}
				return func() { n.room.HandleLost(n.clock(), o.Seq, newest) }
			case !lost && (o.Anew || s.store.last != o.Seq):
				return func() { n.room.HandleRefused(n.clock(), o.Seq) }
			}
			seq := s.append(o.Bytes)
			return func() { n.room.HandleAppended(n.clock(), o.Seq, seq) }
		})
	case Fetch:
		n.call(func() func() {
			for _, e := range s.store.log {
				if e.seq > o.Seq {
					return func() { n.room.HandleFetched(n.clock(), o.Seq, e.seq, e.bytes) }
				}
			}
			return func() { n.room.HandleFetched(n.clock(), o.Seq, 0, nil) }
		})
	case Look:
		n.call(func() func() { rec := s.store.record; return func() { n.room.HandleRecord(n.clock(), rec) } })
	case Bid:
		n.call(func() func() {
			if s.store.record.Revision == o.Revision {
				s.record(Record{Node: o.Node, Epoch: o.Epoch, Revision: o.Revision + 1})
			}
			rec := s.store.record
			return func() { n.room.HandleRecord(n.clock(), rec) }
		})
	case Ask:
		for _, other := range s.nodes {
			if other != n && !n.cut && !other.cut && !n.deaf && !other.deaf && !s.isLost() {
				s.after(s.way(), func() { other.do(func() { other.hear(o.Bytes) }) })
			}
		}
	case Load:
		n.call(func() func() {
			if k := len(s.store.snapshots); k > 0 {
				at := s.store.snapshots[k-1]
				return func() { n.room.HandleSnapshot(n.clock(), at.seq, at.bytes) }
			}
			return func() { n.room.HandleSnapshot(n.clock(), 0, nil) }
		})
	case Save:
		n.call(func() func() { s.save(o.Seq, o.Bytes); return func() { n.room.HandleSaved(n.clock(), o.Seq) } })
	case Differ:
		n.differ(o)
	case Stop:
		n.stopped = true
	}
}

func (n *simNode) hear(batch []byte) {
	n.company = n.sim.now
	n.room.HandleBatch(n.clock(), batch)
}

// differ checks the two states that differ: this node's, and the sequencer's, which is that of the log, of as many ticks or more.
func (n *simNode) differ(o Order) {
	s := n.sim
	n.differs = append(n.differs, o)
	var mine, theirs toy
	mine.Load(o.Bytes)
	if mine.state.tick != o.Tick || mine.state.hash == s.hashes[o.Tick-1] {
		s.fail("node %d has diverged before tick %d, and its state is of tick %d", n.index, o.Tick, mine.state.tick)
	}
	if o.Theirs == nil {
		return
	}
	theirs.Load(o.Theirs)
	if tick := theirs.state.tick; tick < o.Tick || theirs.state.hash != s.hashes[tick-1] {
		s.fail("node %d has diverged before tick %d, and is told a state of tick %d", n.index, o.Tick, tick)
	}
}

// call has the store do something, perhaps twice, and brings what it answers.
func (n *simNode) call(fn func() func()) {
	s := n.sim
	if n.cut || s.isLost() {
		return
	}
	times := 1
	if s.isLost() {
		times = 2
	}
	for range times {
		s.after(s.way(), func() {
			if s.down {
				return
			}
			answer := fn()
			if n.cut || s.isLost() {
				return
			}
			life := n.life
			s.after(s.way(), func() {
				if n.life == life {
					n.do(answer)
				}
			})
		})
	}
}

// verdict compares what players were told and asked for with the log.
func (s *sim) verdict() error {
	if s.err != nil {
		return s.err
	}
	for _, n := range s.nodes {
		if !n.room.Sequences() {
			n.settle()
		}
	}
	for r, tick := range s.told {
		if at, ok := s.seen[r]; !ok || at != tick {
			return fmt.Errorf("request %d of node %x was told to its player as of tick %d, and the log does not have it there", r.number, r.node, tick)
		}
	}
	for _, n := range s.nodes {
		if n.stopped {
			return fmt.Errorf("node %d has stopped", n.index)
		}
		switch done := s.truth.Done(n.id); {
		case n.room.Seq() < s.store.second:
			return fmt.Errorf("node %d is at %d of %d", n.index, n.room.Seq(), s.store.last)
		case done != n.asked || n.room.Waiting() > 0:
			return fmt.Errorf("the log has %d requests of node %d, which asked for %d", done, n.index, n.asked)
		}
	}
	return nil
}
