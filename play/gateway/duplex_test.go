package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/world"
)

// duplexPlayer is a client and what it was told.
type duplexPlayer struct {
	*duplex.Client
	mu   sync.Mutex
	said []string
	done [][]byte
}

func playDuplex(t *testing.T, h *Hub, d *Duplex) *duplexPlayer {
	t.Helper()
	c, err := duplex.Dial(t.Context(), d.Addr().String(), duplex.Config{Schema: schema.Duplex(h.sim.Schema())})
	if err != nil {
		t.Fatal(err)
	}
	p := &duplexPlayer{Client: c}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == duplex.EventSync {
				p.take(ev)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	return p
}

func (p *duplexPlayer) take(ev duplex.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev.SID {
	case message.DuplexSaid:
		name, text, _ := message.ParseDuplexSaid(ev.Data)
		p.said = append(p.said, string(name)+": "+string(text))
	case message.DuplexDone:
		p.done = append(p.done, bytes.Clone(ev.Data))
	}
}

func (p *duplexPlayer) is(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

// place returns where an entity is, as the player knows it.
func (p *duplexPlayer) place(sid int16) (x float64, ok bool) {
	data, ok := p.Element(sid)
	if !ok || len(data) < 9 {
		return 0, false
	}
	return math.Float64frombits(binary.BigEndian.Uint64(data[1:])), true
}

func TestDuplexPlayersShareTheWorld(t *testing.T) {
	h := newArena(t)
	d, err := NewDuplex(h, DuplexConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Shutdown(t.Context())
	a, b := playDuplex(t, h, d), playDuplex(t, h, d)
	until(t, h, "each sees both", func() bool {
		for _, p := range []*duplexPlayer{a, b} {
			for _, who := range []*duplexPlayer{a, b} {
				if _, ok := p.place(who.Player()); !ok {
					return false
				}
			}
		}
		return true
	})
	start, _ := b.place(a.Player())
	if err := a.Update(a.Player(), message.AppendSteer(nil, 0, 1, message.Big)); err != nil {
		t.Fatal(err)
	}
	until(t, h, "b sees a walk", func() bool {
		x, ok := b.place(a.Player())
		return ok && math.Abs(x-start) > 2
	})

	// Queries are answered by a tick, so they wait in goroutines of their own.
	type answer struct {
		status uint8
		reply  []byte
		err    error
	}
	query := func(code uint8, data []byte) chan answer {
		done := make(chan answer, 1)
		go func() {
			status, reply, err := a.Query(t.Context(), duplex.Main, code, data)
			done <- answer{status, reply, err}
		}()
		return done
	}
	answered := func(done chan answer) (status uint8, reply []byte) {
		t.Helper()
		until(t, h, "a reply", func() bool { return len(done) == 1 })
		got := patient.Value(done)
		if got.err != nil {
			t.Fatal(got.err)
		}
		return got.status, got.reply
	}
	ask := func(code uint8, data []byte) (status uint8, reply []byte) { return answered(query(code, data)) }
	if status, _ := ask(message.DuplexSay, []byte("\x00\x05hello")); status != message.DuplexOK {
		t.Errorf("saying: status %d", status)
	}
	until(t, h, "b reads it", func() bool {
		return b.is(func() bool { return len(b.said) == 1 && strings.HasSuffix(b.said[0], ": hello") })
	})
	throw := binary.BigEndian.AppendUint32([]byte{0, 0}, math.Float32bits(1))
	throw = append(throw, 0, 0)
	// Both are in before the next tick, however long a query takes: between two ticks no time passes in the world.
	waiting := func(n int) func() bool {
		return func() bool {
			d.inbox.mu.Lock()
			defer d.inbox.mu.Unlock()
			return len(d.inbox.list) == n
		}
	}
	first := query(message.DuplexAct, throw)
	waitFor(t, func() {}, "the first throw is in", waiting(1))
	second := query(message.DuplexAct, throw)
	waitFor(t, func() {}, "the second throw is in", waiting(2))
	if status, _ := answered(first); status != message.DuplexOK {
		t.Errorf("throwing: status %d", status)
	}
	if status, _ := answered(second); status == message.DuplexOK {
		t.Error("throwing again at once was allowed")
	}
	until(t, h, "b sees the throw", func() bool {
		return b.is(func() bool { return len(b.done) == 1 && int16(binary.BigEndian.Uint16(b.done[0])) == a.Player() })
	})
	if status, chunk := ask(message.DuplexTerrain, []byte{0, 0, 0, 0}); status != message.DuplexOK {
		t.Errorf("terrain: status %d", status)
	} else if c, ok := message.ParseChunk(chunk, message.Big); !ok || c.Place != (world.ChunkPlace{}) {
		t.Errorf("terrain: %x", chunk)
	}
	gone := a.Player()
	a.Close(t.Context())
	until(t, h, "b sees it leave", func() bool {
		_, ok := b.Element(gone)
		return !ok
	})
}

// The hub gets numbers for duplex while the loop gives some back. It never waits for room among them: if nobody connected,
// it would wait for ever.
func TestTheHubDoesNotWaitForRoomAmongNumbers(t *testing.T) {
	h, _ := newDesk(t, Config{})
	d := &Duplex{hub: h, numbers: make(chan int16, spareNumbers)}
	d.refill()
	const rounds = 5_000
	var taken, begun, given, filled atomic.Int64
	wait := func(n *atomic.Int64, round int64) {
		for n.Load() < round {
			runtime.Gosched()
		}
	}
	over := make(chan struct{})
	go func() { // the hub
		defer close(over)
		for round := range int64(rounds) {
			wait(&taken, round+1)
			begun.Store(round + 1)
			d.refill()
			wait(&given, round+1)
			filled.Store(round + 1)
		}
	}()
	go func() { // the loop, a little later each time
		for round := range int64(rounds) {
			wait(&filled, round)
			n := d.takeNumber()
			taken.Store(round + 1)
			wait(&begun, round+1)
			for range round % 64 * 8 {
				given.Load()
			}
			d.freeNumber(n, false)
			given.Store(round + 1)
		}
	}()
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Fatalf("the hub waits in round %d", begun.Load())
	}
}
