package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/cluster/core"
	"parley/internal/patient"
	"parley/play/message"
)

// aCluster is a cluster of one, whose store is a map. It counts what a hub costs it.
type aCluster struct {
	core.Cluster // what is not here is not called

	mu      sync.Mutex
	rooms   map[string][]byte
	watch   func(name string, settings []byte, there bool)
	looks   int // tokens that were looked up
	looking int
	most    int // at once
	gate    chan struct{}
	load    bool // stages are loaded
	parts   map[string]*aPart
	answers map[string]func(context.Context, []byte) []byte
}

type aPart struct {
	core.Part
	config    core.PartConfig
	sequences bool
	moved     []uint64
	closed    bool
}

func (p *aPart) Ask([]byte) (uint64, error) { return 0, core.ErrBusy }
func (p *aPart) Tell([]byte)                {}
func (p *aPart) Ahead() int                 { return 0 }
func (p *aPart) Current() bool              { return true }
func (p *aPart) Sequences() bool            { return p.sequences }
func (p *aPart) Move(to uint64) bool        { p.moved, p.sequences = append(p.moved, to), false; return true }
func (p *aPart) Close()                     { p.closed = true }

func (c *aCluster) ID() uint64           { return 7 }
func (c *aCluster) Living() []uint64     { return []uint64{7} }
func (c *aCluster) Called(uint64) string { return "seven" }

func (c *aCluster) Settle(_ string, s []byte) ([]byte, error) { return s, nil }

func (c *aCluster) Join(name string, _ []byte, p core.PartConfig) (core.Part, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	part := &aPart{config: p}
	c.parts[name] = part
	if c.load {
		go p.Run(func() { _ = p.World.Load(nil) })
	}
	return part, nil
}

func (c *aCluster) WatchRooms(fn func(string, []byte, bool)) { c.watch = fn }

func (c *aCluster) Answer(topic string, fn func(context.Context, []byte) []byte) error {
	c.answers[topic] = fn
	return nil
}

func (c *aCluster) Ask(ctx context.Context, topic string, body []byte) (map[uint64][]byte, error) {
	return map[uint64][]byte{7: c.answers[topic](ctx, body)}, nil
}

func (c *aCluster) EndRoomOf(_ context.Context, name string, _ []byte) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.rooms[name]
	delete(c.rooms, name)
	return there, nil
}

func (c *aCluster) RoomOfToken(context.Context, [32]byte) (string, bool, error) {
	c.mu.Lock()
	c.looks++
	c.looking++
	c.most = max(c.most, c.looking)
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		patient.Value(gate)
	}
	c.mu.Lock()
	c.looking--
	c.mu.Unlock()
	return "", false, nil
}

// newAlly is a hub of a cluster with a desk, which runs.
func newAlly(t *testing.T, cfg Config, c *aCluster) (*Hub, *desk, *alliance) {
	t.Helper()
	c.rooms, c.parts, c.answers = map[string][]byte{}, map[string]*aPart{}, map[string]func(context.Context, []byte) []byte{}
	cfg.Cluster = NewNodes(c)
	h, d := newDesk(t, cfg)
	a := h.together.(*alliance)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := patient.Value(over); err != nil {
			t.Error(err)
		}
	})
	return h, d, a
}

// list puts rooms into the directory.
func (a *alliance) list(t *testing.T, c *aCluster, n int, change func(*Settings)) {
	t.Helper()
	if err := a.hub.Do(func() {
		for i := range n {
			s := a.hub.fill(Settings{Name: fmt.Sprintf("room-%d", i)})
			if change != nil {
				change(&s)
			}
			o := must(a.opening(s))
			c.rooms[s.Name] = o.text
			a.told(s.Name, o.text, true)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// addressOf returns the i-th address of all.
func addressOf(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x0b000000+uint32(i)*256)
	return netip.AddrFrom4(b)
}

// comes has n strangers come with passes, and returns what each was told when all were.
func comes(t *testing.T, h *Hub, d *desk, n int, from func(i int) netip.Addr, pass func(i int) *Pass) map[string]int {
	t.Helper()
	already := 0
	_ = h.Do(func() {
		for _, r := range h.rooms {
			already += len(r.shared.(*shared).waiting)
		}
	})
	seats := make([]*Seat, n)
	for i := range seats {
		s := d.chair()
		s.from, s.pass = from(i), pass(i)
		seats[i] = s
		d.inbox.put(request{seat: s, ask: askEnter})
	}
	told := map[string]int{}
	patient.Until(t, "all have an answer, or wait for a room's world", func() bool {
		clear(told)
		if err := h.Do(func() {
			for _, s := range seats {
				if s.kicked != nil {
					told[s.kicked.Error()]++
				}
			}
			for _, r := range h.rooms {
				told["waits"] += len(r.shared.(*shared).waiting)
			}
		}); err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, n := range told {
			all += n
		}
		return all-already == n
	})
	return told
}

func one(int) netip.Addr { return addressOf(0) }

// Strangers who ask for rooms that are not there cost the cluster nothing, and at most maxAwaits of them wait at a time.
func TestStrangersMakeNoRooms(t *testing.T) {
	c := &aCluster{}
	h, d, a := newAlly(t, Config{}, c)
	most := 0
	told := comes(t, h, d, 5000, addressOf, func(i int) *Pass {
		if i%100 == 0 {
			_ = h.Do(func() { most = max(most, a.waiting) })
		}
		return &Pass{Kind: message.PassRoom, Room: fmt.Sprintf("none-%d", i)}
	})
	if told[string(RefusedRoom)] != 5000 {
		t.Errorf("they were told %v", told)
	}
	if err := h.Do(func() {
		if len(h.rooms) != 1 || len(c.parts) != 1 || c.looks > 0 || most > maxAwaits || a.waiting != 0 || len(a.awaits) != 0 {
			t.Errorf("%d rooms, %d parts, %d looks, %d wait, %d are left", len(h.rooms), len(c.parts), c.looks, most, a.waiting)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// An address has startBurst stages made and not more, and all together maxStarts at a time.
func TestStagesAreBounded(t *testing.T) {
	c := &aCluster{}
	h, d, a := newAlly(t, Config{}, c)
	a.list(t, c, 500, nil)
	pass := func(i int) *Pass { return &Pass{Kind: message.PassRoom, Room: fmt.Sprintf("room-%d", i)} }
	stages := func() (n int) { _ = h.Do(func() { n = len(h.rooms) - 1 }); return n }
	told := comes(t, h, d, 200, one, pass)
	if n := stages(); n < startBurst || n > startBurst+10*startRate || told[string(RefusedBusy)] != 200-n {
		t.Errorf("one address has %d stages: %v", n, told)
	}
	told = comes(t, h, d, 500, func(i int) netip.Addr { return addressOf(1 + i) }, pass)
	if n := stages(); n > maxStarts || told[string(RefusedBusy)] < 500-2*maxStarts {
		t.Errorf("all have %d stages: %v", n, told)
	}
}

// A room that wants a ticket has no stage made by somebody without one.
func TestAClosedRoomIsNotMade(t *testing.T) {
	c := &aCluster{}
	h, d, a := newAlly(t, Config{}, c)
	a.list(t, c, 10, func(s *Settings) { s.Closed = true })
	told := comes(t, h, d, 10, one, func(i int) *Pass { return &Pass{Kind: message.PassRoom, Room: fmt.Sprintf("room-%d", i)} })
	if told[string(RefusedGuest)] != 10 || len(c.parts) != 1 {
		t.Errorf("%v, %d parts", told, len(c.parts))
	}
}

// Tokens that nobody has are looked up within bounds: of an address, at once, and in all.
func TestLooksAreBounded(t *testing.T) {
	c := &aCluster{}
	h, d, _ := newAlly(t, Config{PerAddress: 100}, c)
	n := uint64(0)
	pass := func(int) *Pass {
		n++
		p := &Pass{Kind: message.PassSession}
		binary.LittleEndian.PutUint64(p.token[:], n)
		return p
	}
	began := time.Now()
	told := comes(t, h, d, 3000, one, pass)
	most := 100 + lookRate*(1+int(time.Since(began)/time.Second))
	if c.looks < 100 || c.looks > most || told[string(RefusedSession)] != c.looks || told[string(RefusedBusy)] != 3000-c.looks {
		t.Errorf("one address has %d tokens looked up, at most %d may be: %v", c.looks, most, told)
	}
	c.mu.Lock()
	before := c.looks
	c.gate = make(chan struct{})
	gate := c.gate
	c.mu.Unlock()
	go func() { // when nothing more comes
		for range 100 {
			c.mu.Lock()
			full := c.looking == maxLooking
			c.mu.Unlock()
			if full {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		close(gate)
	}()
	told = comes(t, h, d, 6000, func(i int) netip.Addr { return addressOf(1 + i) }, pass)
	if c.most != maxLooking {
		t.Errorf("%d are looked up at once, not %d", c.most, maxLooking)
	}
	if got := c.looks - before; got > looksBurst+looksRate*(1+int(time.Since(began)/time.Second)) || told[string(RefusedBusy)] < 6000-looksBurst-2*looksRate {
		t.Errorf("all have %d looked up: %v", got, told)
	}
}

// A stage without players of this server is closed after a while, when another server makes the entries; a room that is empty ends after its time.
func TestAStageWithoutPlayersEnds(t *testing.T) {
	c := &aCluster{load: true}
	h, _, a := newAlly(t, Config{}, c)
	a.list(t, c, 3, func(s *Settings) {
		if s.Name == "room-1" {
			s.Idle = -1
		}
	})
	for _, name := range []string{"room-0", "room-1", "room-2"} {
		if err := h.Bring(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Bring("room-3"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a room that is not there: %v", err)
	}
	patient.Until(t, "all are loaded", func() (all bool) {
		_ = h.Do(func() { all = a.loading() == 0 })
		return all
	})
	sweep := func(after time.Duration) { // a room that a worker has is not looked at, and the hub's own next look is a minute away
		patient.Until(t, "no worker has a room", func() (swept bool) {
			_ = h.Do(func() {
				for _, r := range h.Rooms() {
					if !r.quiet() || r != h.main && r.shared.(*shared).isUsed() {
						return
					}
				}
				a.sweep(time.Now().Add(after))
				swept = true
			})
			return swept
		})
	}
	has := func(name string) (there bool) { _ = h.Do(func() { there = h.rooms[name] != nil }); return there }
	if err := h.Do(func() { c.parts["room-1"].sequences, c.parts["room-2"].sequences = true, true }); err != nil {
		t.Fatal(err)
	}
	sweep(0)
	sweep(50 * time.Second)
	if !has("room-0") || !has("room-1") || !has("room-2") {
		t.Fatal("a stage ends too soon")
	}
	sweep(stageIdle + time.Second)
	patient.Until(t, "empty rooms end", func() bool { return !has("room-0") && !has("room-2") })
	part := func() (p aPart) { _ = h.Do(func() { p = *c.parts["room-1"] }); return p }
	if p := part(); len(p.moved) != 1 || p.moved[0] != 0 || !has("room-1") || p.closed {
		t.Errorf("who makes the entries of a room that stays gives them up first: %+v", p)
	}
	sweep(stageIdle + 2*time.Second)
	if has("room-1") || !part().closed {
		t.Error("then its stage ends")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.rooms["room-1"]; !there || len(c.rooms) != 1 {
		t.Errorf("the directory has %d rooms", len(c.rooms))
	}
}

// A room that was opened at a server which is gone, and where nobody came, is ended by another when it was seen some times.
func TestARoomThatNobodyRunsEnds(t *testing.T) {
	c := &aCluster{}
	h, _, a := newAlly(t, Config{}, c)
	a.list(t, c, 3, func(s *Settings) {
		switch s.Opened -= 2 * int64(s.Idle/time.Microsecond); s.Name {
		case "room-1":
			s.Idle = -1
		case "room-2":
			s.Opened = time.Now().UnixMicro()
		}
	})
	left := func() (n int) { c.mu.Lock(); defer c.mu.Unlock(); return len(c.rooms) }
	for i := range orphanLooks {
		if left() != 3 {
			t.Fatalf("ended at look %d", i)
		}
		seen := 0
		if err := h.Do(func() { a.sweepOrphans(time.Now().Add(time.Duration(i+1) * 2 * orphanEach)) }); err != nil {
			t.Fatal(err)
		}
		patient.Until(t, "it was seen", func() bool { _ = h.Do(func() { seen = a.orphans["room-0"] }); return seen >= i+1 })
	}
	patient.Until(t, "it has ended", func() bool { return left() == 2 })
}
