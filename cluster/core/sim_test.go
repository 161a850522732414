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
	loss   float64
	calm   bool // no faults any more

	hashes map[uint64]uint64 // of each tick, by whoever ran it first
	told   map[toyRequest]bool
	err    error
}

type store struct {
	log       []entry
	all       []entry // those that were removed, too
	last      uint64
	second    uint64 // what last was a second before the end
	record    Record
	snapshots []snapshotAt
}

type entry struct {
	seq, prev uint64
	bytes     []byte
}

type snapshotAt struct {
	seq   uint64
	bytes []byte
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
	held    []func() // what came while it was paused
	skew    time.Duration
	drift   float64
	timer   int // number of the newest
	lastWay time.Duration
	asked   uint64 // requests of this life
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

func newSim(seed uint64, nodes int) *sim {
	s := &sim{rand: rand.New(rand.NewPCG(seed, 78)), hashes: map[uint64]uint64{}, told: map[toyRequest]bool{}}
	for i := range nodes {
		n := &simNode{sim: s, index: i, skew: time.Duration(s.rand.Int64N(int64(4*time.Second))) - 2*time.Second, drift: (s.rand.Float64() - 0.5) / 500}
		s.nodes = append(s.nodes, n)
		n.start()
	}
	return s
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
	}
	return d
}

func (s *sim) isLost() bool { return !s.calm && s.rand.Float64() < s.loss }

// start begins a life of a node.
func (n *simNode) start() {
	s := n.sim
	n.life++
	n.id = uint64(n.index+1)<<32 | uint64(n.life)
	n.asked = 0
	n.world = newToy(8)
	n.world.ran = n.ran
	n.room = NewRoom(n.clock(), Config{Node: n.id, Period: 50 * time.Millisecond, Rand: rand.New(rand.NewPCG(s.rand.Uint64(), 0))}, n.world)
	n.turn()
}

func (n *simNode) clock() time.Time {
	return time.Unix(1_700_000_000, 0).Add(n.skew + n.sim.now + time.Duration(float64(n.sim.now)*n.drift))
}

// ran checks a tick that was run against what the others made of it, and notes what was told to players of this node.
func (n *simNode) ran(t *toy, tick uint64, entry []byte) {
	s := n.sim
	if want, ok := s.hashes[tick]; ok && want != t.state.hash {
		s.fail("node %d has another state than others after tick %d", n.index, tick)
	}
	s.hashes[tick] = t.state.hash
	for _, r := range requestsOf(entry) {
		if r.node == n.id {
			s.told[r] = true
		}
	}
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
			if after := s.store.last; after != o.Seq {
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
		id := n.id
		n.call(func() func() {
			if s.store.record.Revision == o.Revision {
				s.store.record = Record{Node: id, Epoch: o.Epoch, Revision: o.Revision + 1}
			}
			rec := s.store.record
			return func() { n.room.HandleRecord(n.clock(), rec) }
		})
	case Ask:
		for _, other := range s.nodes {
			if other != n && !n.cut && !other.cut && !s.isLost() {
				s.after(s.way(), func() { other.do(func() { other.room.HandleBatch(other.clock(), o.Bytes) }) })
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
		n.call(func() func() { s.save(o.Seq, o.Bytes); return func() {} })
	case Stop:
		s.fail("node %d stops", n.index)
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

// append adds an entry to the log, and tells all nodes.
func (s *sim) append(b []byte) uint64 {
	prev := s.store.last
	s.store.last += 1 + s.rand.Uint64N(3) // other rooms have entries in the same stream
	e := entry{s.store.last, prev, b}
	s.store.log, s.store.all = append(s.store.log, e), append(s.store.all, e)
	for _, n := range s.nodes {
		if n.cut || s.isLost() {
			continue
		}
		times := 1
		if s.isLost() {
			times = 2
		}
		for range times {
			n.lastWay = max(n.lastWay, s.now+s.way()) // one subscription keeps its order
			s.after(n.lastWay-s.now, func() { n.do(func() { n.room.HandleTold(n.clock(), e.seq, e.prev, e.bytes) }) })
		}
	}
	return e.seq
}

// save keeps a snapshot, and removes the entries behind the older of the newest two.
func (s *sim) save(seq uint64, b []byte) {
	k := len(s.store.snapshots)
	if k > 0 && s.store.snapshots[k-1].seq >= seq {
		return
	}
	s.store.snapshots = append(s.store.snapshots, snapshotAt{seq, b})
	if k == 0 {
		return
	}
	older := s.store.snapshots[k-1].seq
	for len(s.store.log) > 1 && s.store.log[0].seq <= older {
		s.store.log = s.store.log[1:]
	}
}

// verdict reads the whole log as it is meant, and compares it with what players were told.
func (s *sim) verdict() error {
	if s.err != nil {
		return s.err
	}
	seen := map[toyRequest]bool{}
	var w toy
	w.Load(nil)
	for _, e := range s.store.all {
		if head, _ := w.Head(e.bytes); head.Epoch < w.Epoch() {
			continue
		}
		if err := w.Apply(e.bytes); err != nil {
			return fmt.Errorf("the log: entry %d: %w", e.seq, err)
		}
		for _, r := range requestsOf(e.bytes) {
			if seen[r] {
				return fmt.Errorf("the log has request %d of node %x twice", r.number, r.node)
			}
			seen[r] = true
		}
	}
	for r := range s.told {
		if !seen[r] {
			return fmt.Errorf("request %d of node %x was told to its player, and the log does not have it", r.number, r.node)
		}
	}
	for _, n := range s.nodes {
		switch done := w.Done(n.id); {
		case n.room.Seq() < s.store.second:
			return fmt.Errorf("node %d is at %d of %d", n.index, n.room.Seq(), s.store.last)
		case done != n.asked || len(n.room.out.list) > 0:
			return fmt.Errorf("the log has %d requests of node %d, which asked for %d", done, n.index, n.asked)
		}
	}
	return nil
}
