package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// player is the owner of a room on a node, in tests.
type player struct {
	t     *testing.T
	node  *Node
	room  *Room
	world *toy
	do    chan func()
	over  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	hashes map[uint64]uint64
	told   int // requests of this node that were run
	last   time.Time
	pause  time.Duration // the longest
}

// newPlayer has a node play a room of toys.
func newPlayer(t *testing.T, c Config) *player {
	t.Helper()
	if testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	n, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, node: n, do: make(chan func(), 64), over: make(chan struct{}), hashes: map[uint64]uint64{}}
	p.world = newToy(p.ran)
	p.room, err = n.Open("main", RoomConfig{Period: 50 * time.Millisecond, World: p.world, Run: p.run, Hash: func() uint64 { return p.world.state.hash }})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			select {
			case fn := <-p.do:
				fn()
			case <-p.over:
				return
			}
		}
	}()
	t.Cleanup(p.close)
	return p
}

func (p *player) close() {
	p.once.Do(func() {
		close(p.over)
		p.node.Close()
	})
}

func (p *player) run(fn func()) bool {
	select {
	case p.do <- fn:
		return true
	case <-p.over:
		return false
	}
}

func (p *player) ran(tick, hash uint64, requests []toyRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hashes[tick] = hash
	for _, q := range requests {
		if q.node == p.node.id {
			p.told++
		}
	}
	now := time.Now()
	if !p.last.IsZero() {
		p.pause = max(p.pause, now.Sub(p.last))
	}
	p.last = now
}

func (p *player) ask(n int) {
	for range n {
		p.run(func() { _, _ = p.room.Ask([]byte("move")) })
	}
}

func (p *player) done() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// until waits until something holds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	patient.Until(t, what, ok)
}

// compare fails if two nodes have different states after a tick, and returns how many ticks both have run.
func compare(t *testing.T, a, b *player) (both int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for tick, hash := range a.hashes {
		other, ok := b.hashes[tick]
		if !ok {
			continue
		}
		both++
		if other != hash {
			t.Fatalf("tick %d: %x and %x", tick, hash, other)
		}
	}
	return both
}

// newNode starts a node that is closed with the test, and waits until it is ready.
func newNode(t *testing.T, c Config) *Node {
	t.Helper()
	if c.Log == nil && testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	if c.Name == "" {
		c.Name = "test"
	}
	n, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	patient.Value(n.Ready())
	return n
}

// TestThreeNodesOfOneNATS plays a room on three nodes: all have the same state after each tick, and each request is run once. When the
// sequencer ends, another goes on.
func TestThreeNodesOfOneNATS(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	var all []*player
	for range 3 {
		all = append(all, newPlayer(t, Config{Name: "test", URLs: []string{url}}))
	}
	play(t, all)
}

// TestThreeServers does the same with a server of NATS in each node.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	addrs := freePorts(t, 3)
	var all []*player
	for i := range 3 {
		peers := append(append([]string{}, addrs[:i]...), addrs[i+1:]...)
		all = append(all, newPlayer(t, Config{Name: "test", Listen: addrs[i], Peers: peers, Dir: t.TempDir()}))
	}
	play(t, all)
}

func freePorts(t testing.TB, n int) (list []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		list = append(list, l.Addr().String())
	}
	return list
}

func play(t *testing.T, all []*player) {
	const asks = 20
	for _, p := range all {
		p.ask(asks)
	}
	for i, p := range all {
		until(t, fmt.Sprintf("the requests of node %d", i), func() bool { return p.done() == asks })
	}
	for i, p := range all[1:] {
		until(t, fmt.Sprintf("ticks of node %d", i+1), func() bool { return compare(t, all[0], p) >= 5 })
	}
	var first *player
	var rest []*player
	sequencers := 0
	for _, p := range all {
		var looked, is atomic.Bool
		p.run(func() { is.Store(p.room.Sequences()); looked.Store(true) })
		until(t, "whether a node sequences", looked.Load)
		if is.Load() {
			first = p
			sequencers++
		} else {
			rest = append(rest, p)
		}
	}
	if sequencers != 1 {
		t.Fatalf("%d sequencers", sequencers)
	}
	var told board
	rest[1].node.WatchBans(told.tell)
	first.close()
	for _, p := range rest {
		p.ask(asks)
	}
	began := time.Now()
	if err := errors.Join(rest[0].node.PutBan(t.Context(), "eve", []byte("spam"), time.Time{}), rest[1].node.Spend(t.Context(), [16]byte{1}, time.Time{}, "main")); err != nil {
		t.Error(err)
	}
	until(t, "a ban", func() bool { return told.is(map[string]string{"eve": "spam"}) })
	t.Logf("a ban and a ticket after the end of a node took %v", time.Since(began))
	var spent *SpentError
	if err := rest[0].node.Spend(t.Context(), [16]byte{1}, time.Time{}, "main"); !errors.As(err, &spent) {
		t.Errorf("a ticket that is spent: %v", err)
	}
	for i, p := range rest {
		until(t, fmt.Sprintf("the requests of node %d, which goes on", i), func() bool { return p.done() == 2*asks })
	}
	a, b := compare(t, first, rest[0]), compare(t, rest[0], rest[1])
	if a < 1 || b <= a {
		t.Errorf("%d ticks were compared before the end of the sequencer, and %d in all", a, b)
	}
	rest[0].mu.Lock()
	defer rest[0].mu.Unlock()
	t.Logf("the longest pause: %v", rest[0].pause)
}
