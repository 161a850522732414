package gateway

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/protocol/replica"
	"parley/protocol/replica/core"
	"parley/world"
)

// newArena is a hub with the arena, whose ticks the test runs.
func newArena(t *testing.T) *Hub {
	t.Helper()
	h, err := New(Config{Game: arena.Game(), World: world.Config{Seed: 7}, Sight: -1})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// until runs ticks until cond holds, one a millisecond: what a client sends takes its time,
// however quick the ticks are.
func until(t *testing.T, h *Hub, what string, cond func() bool) {
	t.Helper()
	waitFor(t, func() { ticks(t, h, 1) }, what, cond)
}

// bell is a dialect without players that rings after each tick.
type bell struct {
	inbox inbox
	rings chan struct{}
}

func (b *bell) Name() string                   { return "bell" }
func (b *bell) requests() *inbox               { return &b.inbox }
func (b *bell) visit(fn func())                { fn() }
func (b *bell) view() world.ViewConfig         { return world.ViewConfig{} }
func (b *bell) Shutdown(context.Context) error { return nil }
func (b *bell) publish(*Hub) {
	select {
	case b.rings <- struct{}{}:
	default:
	}
}

// live runs a hub by the clock, for dialects whose clients count ticks by it, and returns how
// to wait for something.
func live(t *testing.T, h *Hub) (until func(what string, cond func() bool)) {
	t.Helper()
	b := &bell{rings: make(chan struct{}, 1)}
	h.Add(b)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := patient.Value(ended); err != nil {
			t.Error(err)
		}
	})
	return func(what string, cond func() bool) {
		t.Helper()
		for ticks := 0; !cond(); ticks++ {
			if ticks > 2000 {
				t.Fatalf("%s: not within 2,000 ticks", what)
			}
			select {
			case <-b.rings:
			case <-time.After(time.Minute):
				t.Fatalf("%s: no tick for a minute", what)
			}
		}
	}
}

// replicaPlayer is a client and what it saw.
type replicaPlayer struct {
	*replica.Client
	mu       sync.Mutex
	messages []string // name=data
	last     map[string]string
}

func playReplica(t *testing.T, d *Replica) *replicaPlayer {
	t.Helper()
	c, err := replica.Dial(t.Context(), d.Addr().String(), replica.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &replicaPlayer{Client: c, last: map[string]string{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == replica.EventMessage {
				p.mu.Lock()
				p.messages = append(p.messages, string(ev.Name)+"="+string(ev.Data))
				p.last[string(ev.Name)] = string(ev.Data)
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	if err := c.Link(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *replicaPlayer) lastOf(name string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.last[name]
	return v, ok
}

// you returns the link and id of the player's own entity.
func (p *replicaPlayer) you() (link uint16, id uint8, ok bool) {
	v, ok := p.lastOf("parley.you")
	if !ok || len(v) != 3 {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint16([]byte(v)), v[2], true
}

// field returns a variable of an entity.
func (p *replicaPlayer) field(link uint16, id uint8, name string) (v float64, ok bool) {
	p.Do(func(values *replica.Values) {
		var r core.Reading
		if r, ok = values.EntityValue(link, id, name); ok {
			v = r.Float()
		}
	})
	return v, ok
}

func TestReplicaPlayersShareTheWorld(t *testing.T) {
	h := newArena(t)
	d, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Shutdown(t.Context())
	a, b := playReplica(t, d), playReplica(t, d)
	until(t, h, "both know who they are", func() bool {
		_, _, one := a.you()
		_, _, two := b.you()
		return one && two
	})
	link, mine, _ := a.you()

	// a walks, and b sees it.
	var steer []byte
	steer = binary.LittleEndian.AppendUint32(steer, math.Float32bits(0))
	steer = binary.LittleEndian.AppendUint32(steer, math.Float32bits(1))
	var start float64
	until(t, h, "a sees itself", func() (ok bool) {
		start, ok = a.field(link, mine, "x")
		return ok
	})
	if err := a.Send(replica.Ordered, "steer", steer); err != nil {
		t.Fatal(err)
	}
	until(t, h, "a walks", func() bool {
		x, _ := a.field(link, mine, "x")
		return math.Abs(x-start) > 2
	})
	other := func(p *replicaPlayer) (ids []uint8) {
		p.Do(func(values *replica.Values) {
			for id := range values.Entities(link) {
				ids = append(ids, id)
			}
		})
		return ids
	}
	until(t, h, "b sees both", func() bool { return len(other(b)) == 2 })

	if err := a.Send(replica.Ordered, "chat", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b reads it", func() bool {
		v, ok := b.lastOf("chat")
		return ok && strings.HasSuffix(v, "hello") && strings.Contains(v, "guest-")
	})

	throw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
	throw = binary.LittleEndian.AppendUint16(throw, 0)
	if err := a.Send(replica.Ordered, "throw", throw); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b sees the throw", func() bool {
		v, ok := b.lastOf("throw")
		return ok && len(v) == 2+1+4+4+2
	})

	if err := a.Send(replica.Ordered, "terrain", []byte{0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	until(t, h, "a gets the chunk", func() bool {
		v, ok := a.lastOf("terrain")
		return ok && len(v) >= 7 && v[:4] == "\x00\x00\x00\x00"
	})

	a.Close(t.Context())
	until(t, h, "b sees it leave", func() bool { return len(other(b)) == 1 && len(h.players) == 1 })
}

func TestReplicaPlayersAreKicked(t *testing.T) {
	h := newArena(t)
	d, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Shutdown(t.Context())
	a := playReplica(t, d)
	until(t, h, "it enters", func() bool { return len(h.players) == 1 })
	if !h.Kick(h.Players()[0].ID, "go away") {
		t.Fatal("it was not there")
	}
	until(t, h, "it is gone", func() bool { return len(h.players) == 0 && a.Err() != nil })
	if why := a.Err().Error(); !strings.Contains(why, "go away") {
		t.Errorf("it was told %q", why)
	}
}
