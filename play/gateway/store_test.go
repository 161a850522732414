package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"parley/cluster/core"
	"parley/internal/patient"
	"parley/play/message"
)

// store is what servers of a test have in common: the logs of rooms, their records and snapshots, and tokens, in memory. It can stand still, as one does
// that has no quorum: then nobody has an answer, and what nodes tell each other arrives all the same.
type store struct {
	mu      sync.Mutex
	gate    chan struct{} // while it stands still: closed when it goes on
	nodes   []*storeNode
	rooms   map[string][]byte // the directory
	logs    map[string]*storeLog
	tokens  map[[32]byte]string
	put     int // tokens that were noted
	batch   time.Duration
	tickets map[[16]byte]string
}

type storeLog struct {
	entries  [][]byte
	record   core.Record
	snapshot []byte
	seq      uint64 // of the snapshot
	parts    []*storePart
}

// still has the store stand still, or go on.
func (c *store) still(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case on && c.gate == nil:
		c.gate = make(chan struct{})
	case !on && c.gate != nil:
		close(c.gate)
		c.gate = nil
	}
}

// deafen has the logs not hear a node, or hear it again.
func (c *store) deafen(i int, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i].deaf = on
}

// storeNode is a node of the test's cluster.
type storeNode struct {
	core.Cluster // what is not here is not called
	*store
	id      uint64
	deaf    bool // logs do not hear it
	stuck   bool // it is told what is new, and cannot ask for what was before
	watch   func(name string, settings []byte, there bool)
	answers map[string]func(context.Context, []byte) []byte
}

func (n *storeNode) ID() uint64                               { return n.id }
func (n *storeNode) Called(id uint64) string                  { return fmt.Sprintf("node-%d", id) }
func (n *storeNode) Drain()                                   {}
func (n *storeNode) Place() (uint64, map[string]string, bool) { return n.id, nil, true }

func (n *storeNode) Living() (ids []uint64) {
	for _, o := range n.nodes {
		ids = append(ids, o.id)
	}
	return ids
}

func (n *storeNode) Settle(room string, settings []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rooms[room] == nil {
		n.rooms[room] = settings
	}
	return n.rooms[room], nil
}

func (n *storeNode) WatchRooms(fn func(string, []byte, bool)) { n.watch = fn }

func (n *storeNode) WatchBans(func(string, []byte, bool)) {}

func (n *storeNode) Answer(topic string, fn func(context.Context, []byte) []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[topic] = fn
	return nil
}

func (n *storeNode) Ask(ctx context.Context, topic string, body []byte) (map[uint64][]byte, error) {
	answers := map[uint64][]byte{}
	for _, o := range n.nodes {
		n.mu.Lock()
		fn := o.answers[topic]
		n.mu.Unlock()
		if fn != nil {
			answers[o.id] = fn(ctx, body)
		}
	}
	return answers, nil
}

func (n *storeNode) EndRoomOf(context.Context, string, []byte) (bool, error) { return true, nil }
func (n *storeNode) ClearRoom(context.Context, string, []byte) error         { return nil }

func (n *storeNode) ChangeRoom(_ context.Context, name string, before, after []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if bytes.Equal(n.rooms[name], before) {
		n.rooms[name] = after
	}
	return n.rooms[name], nil
}

// answer waits while the store stands still.
func (c *store) answer(ctx context.Context, fn func()) error {
	for {
		c.mu.Lock()
		gate := c.gate
		if gate == nil {
			fn()
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *storeNode) PutTokens(ctx context.Context, list []core.Token) error {
	return n.answer(ctx, func() {
		for _, t := range list {
			n.put++
			n.tokens[t.Hash] = t.Room
		}
	})
}

func (n *storeNode) RoomOfToken(ctx context.Context, hash [32]byte) (room string, ok bool, err error) {
	err = n.answer(ctx, func() { room, ok = n.tokens[hash] })
	return room, ok, err
}

func (n *storeNode) Spend(ctx context.Context, serial [16]byte, _ time.Time, use string) (err error) {
	return n.answer(ctx, func() { n.tickets[serial] = use })
}

func (n *storeNode) Join(_ string, settings []byte, c core.PartConfig) (core.Part, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.logs[string(settings)]
	if l == nil {
		l = &storeLog{}
		n.logs[string(settings)] = l
	}
	p := &storePart{node: n, log: l, c: c}
	p.timer = time.AfterFunc(time.Hour, func() { p.post(func() { p.room.HandleTimeout(time.Now()) }) })
	p.room = core.NewRoom(time.Now(), core.Config{Node: n.id, Period: c.Period, Batch: n.batch, Rand: rand.New(rand.NewPCG(n.id, 1))}, c.World)
	l.parts = append(l.parts, p)
	p.timer.Reset(0)
	return p, nil
}

// storePart is a node's part of a room.
type storePart struct {
	node   *storeNode
	log    *storeLog
	c      core.PartConfig
	room   *core.Room
	timer  *time.Timer
	closed bool // under the store's lock
}

func (p *storePart) Ask(body []byte) (uint64, error) {
	n, err := p.room.Ask(time.Now(), body)
	p.turn()
	return n, err
}

func (p *storePart) Ahead() int    { return p.room.Ahead() }
func (p *storePart) Current() bool { return p.room.Current() }

func (p *storePart) Sequences() bool { return p.room.Sequences() }

func (p *storePart) Move(node uint64) bool {
	ok := p.room.Move(time.Now(), node)
	p.turn()
	return ok
}

func (p *storePart) Tell(b []byte) {
	for _, o := range p.others() {
		go o.post(func() { o.c.Here(b) })
	}
}

func (p *storePart) Close() {
	p.timer.Stop()
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	p.closed = true
}

func (p *storePart) isClosed() bool {
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	return p.closed
}

func (p *storePart) others() (list []*storePart) {
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	for _, o := range p.log.parts {
		if o != p && !o.closed {
			list = append(list, o)
		}
	}
	return list
}

func (p *storePart) post(fn func()) {
	if p.isClosed() {
		return
	}
	p.c.Run(func() {
		if !p.isClosed() {
			fn()
			p.turn()
		}
	})
}

func (p *storePart) turn() {
	for o, ok := p.room.Poll(); ok; o, ok = p.room.Poll() {
		o.Bytes = bytes.Clone(o.Bytes)
		if o.Kind == core.Ask {
			for _, other := range p.others() {
				go other.post(func() { other.room.HandleBatch(time.Now(), o.Bytes) })
			}
			continue
		}
		go p.call(o)
	}
	if next, ok := p.room.NextTimeout(); ok {
		p.timer.Reset(max(time.Until(next), 100*time.Microsecond))
	}
}

// call does what an order says, and tells others and then the room. A store that stands still does nothing.
func (p *storePart) call(o core.Order) {
	p.node.mu.Lock()
	l := p.log
	if p.node.gate != nil || p.node.deaf || p.closed {
		p.node.mu.Unlock()
		return
	}
	var answer func(now time.Time)
	told := false
	switch last := uint64(len(l.entries)); o.Kind {
	case core.Append:
		if o.Seq != last {
			answer = func(now time.Time) { p.room.HandleRefused(now, o.Seq) }
			break
		}
		l.entries, told = append(l.entries, o.Bytes), true
		answer = func(now time.Time) { p.room.HandleAppended(now, o.Seq, last+1) }
	case core.Fetch:
		if p.node.stuck {
			break
		}
		answer = func(now time.Time) { p.room.HandleFetched(now, o.Seq, 0, nil) }
		if o.Seq < last {
			b := l.entries[o.Seq]
			answer = func(now time.Time) { p.room.HandleFetched(now, o.Seq, o.Seq+1, b) }
		}
	case core.Bid:
		if o.Revision == l.record.Revision {
			l.record = core.Record{Node: o.Node, Epoch: o.Epoch, Revision: o.Revision + 1}
		}
		fallthrough
	case core.Look:
		rec := l.record
		answer = func(now time.Time) { p.room.HandleRecord(now, rec) }
	case core.Load:
		seq, b := l.seq, l.snapshot
		answer = func(now time.Time) { p.room.HandleSnapshot(now, seq, b) }
	case core.Save:
		l.seq, l.snapshot = o.Seq, o.Bytes
		answer = func(now time.Time) { p.room.HandleSaved(now, o.Seq) }
	}
	p.node.mu.Unlock()
	if told {
		for _, other := range p.others() {
			other.post(func() { other.room.HandleTold(time.Now(), o.Seq+1, o.Seq, o.Bytes) })
		}
	}
	if answer != nil {
		p.post(func() { answer(time.Now()) })
	}
}

// fleet are servers that share their rooms by a store.
type fleet struct {
	*store
	t     *testing.T
	cfg   Config
	hubs  []*Hub
	desks []*desk
}

// newFleet has n servers run. The first makes the entries of the main room.
func newFleet(t *testing.T, n int, cfg Config) *fleet {
	t.Helper()
	f := newFleetAhead(t, n, 0, cfg)
	for range n - 1 {
		f.begins()
	}
	return f
}

// newFleetAhead has the first of n servers run. While it is alone, it is ahead of the log by so much.
func newFleetAhead(t *testing.T, n int, ahead time.Duration, cfg Config) *fleet {
	t.Helper()
	c := &store{batch: ahead, rooms: map[string][]byte{}, logs: map[string]*storeLog{}, tokens: map[[32]byte]string{}, tickets: map[[16]byte]string{}}
	f := &fleet{store: c, t: t, cfg: cfg}
	if f.cfg.TickRate == 0 {
		f.cfg.TickRate = 100
	}
	for range n {
		c.nodes = append(c.nodes, &storeNode{store: c, id: uint64(len(c.nodes) + 1), answers: map[string]func(context.Context, []byte) []byte{}})
	}
	f.begins()
	f.comes(0, nil) // somebody who stays has it sequence
	f.until("it makes the entries", func() (yes bool) {
		f.quiet(0, func(_ *Room, x *shared) { yes = x.sequences() })
		return yes
	})
	return f
}

// begins has the next server run.
func (f *fleet) begins() {
	f.t.Helper()
	i := len(f.hubs)
	cfg := f.cfg
	cfg.Cluster = NewNodes(f.nodes[i])
	h, d := newDesk(f.t, cfg)
	f.hubs, f.desks = append(f.hubs, h), append(f.desks, d)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- h.Run(ctx) }()
	f.t.Cleanup(func() {
		f.still(false)
		cancel()
		if err := patient.Value(over); err != nil {
			f.t.Error(err)
		}
	})
	f.until("the room is loaded", func() (open bool) {
		f.quiet(i, func(_ *Room, x *shared) { open = x.open })
		return open
	})
}

func (f *fleet) until(what string, holds func() bool) {
	f.t.Helper()
	patient.Until(f.t, what, holds)
}

// heard waits until a server has read what connections asked for.
func (f *fleet) heard(i int) {
	f.t.Helper()
	f.until("all is read", func() bool {
		f.hubs[i].rouse()
		b := &f.desks[i].inbox
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.list) == 0
	})
}

// do has a server's goroutine run fn.
func (f *fleet) do(i int, fn func()) {
	f.t.Helper()
	if err := f.hubs[i].Do(fn); err != nil {
		f.t.Fatal(err)
	}
}

// ask has a connection ask for something.
func (f *fleet) ask(i int, s *Seat, r request) {
	r.seat = s
	f.desks[i].inbox.put(r)
}

// knocks has a connection ask to enter.
func (f *fleet) knocks(i int, change func(s *Seat)) *Seat {
	s := f.desks[i].chair()
	if change != nil {
		change(s)
	}
	f.ask(i, s, request{ask: askEnter, name: s.name})
	return s
}

// comes lets somebody in, whose client has its token.
func (f *fleet) comes(i int, change func(s *Seat)) *Seat {
	f.t.Helper()
	s := f.knocks(i, change)
	f.until("a player is in", func() (in bool) {
		f.do(i, func() { in = s.player != nil && s.player.seat == s || s.kicked != nil })
		return in
	})
	var why error
	if f.do(i, func() { why = s.kicked }); why != nil {
		f.t.Fatalf("it is not let in: %v", why)
	}
	f.ask(i, s, request{ask: askKnown})
	return s
}

// knows waits until a server has run all of the log.
func (f *fleet) knows(i int) {
	f.t.Helper()
	f.until("it has run all of the log", func() (knows bool) {
		f.quiet(i, func(_ *Room, x *shared) { knows = x.knows() })
		return knows
	})
}

// session is the pass that brings the player of a seat back.
func (f *fleet) session(i int, s *Seat) *Pass {
	var token message.Token
	f.do(i, func() { token = s.token })
	return &Pass{Kind: message.PassSession, token: sha256.Sum256(token[:])}
}

// quiet has fn look at a server's main room between two steps.
func (f *fleet) quiet(i int, fn func(r *Room, x *shared)) {
	f.t.Helper()
	ran := make(chan struct{})
	f.do(i, func() {
		r := f.hubs[i].main
		r.do(func() {
			fn(r, r.shared.(*shared))
			close(ran)
		})
	})
	patient.Value(ran)
}
