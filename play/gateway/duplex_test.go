package gateway

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/world"
)

// playDuplex returns a client of duplex that reads nothing of what it is told.
func playDuplex(t *testing.T, h *Hub, d *Duplex) *duplex.Client {
	t.Helper()
	c := must(duplex.Dial(t.Context(), d.Addr().String(), duplex.Config{Schema: schema.Duplex(h.main.sim.Schema())}))
	follow(t, c.Close, c.Events(), func(duplex.Event) {})
	return c
}

// The reply to a query says what became of it.
func TestDuplexAnswersQueries(t *testing.T) {
	h := newArena(t, Config{})
	d := must(NewDuplex(h, DuplexConfig{Addr: loopback}))
	p := playDuplex(t, h, d)
	until(t, h, "it is in", func() bool { _, ok := p.Element(p.Player()); return ok })
	throw := binary.BigEndian.AppendUint32([]byte{0, 0}, math.Float32bits(1))
	throw = append(throw, 0, 0)
	// All are in before the next tick, one after the other, however long they take: between two ticks no time passes in the world.
	type answer struct {
		status uint8
		reply  []byte
		err    error
	}
	queries := []struct {
		name   string
		code   uint8
		data   []byte
		ok     bool
		answer chan answer
	}{
		{"a line", message.DuplexSay, []byte("\x00\x05hello"), true, make(chan answer, 1)},
		{"a throw", message.DuplexAct, throw, true, make(chan answer, 1)},
		{"another at once", message.DuplexAct, throw, false, make(chan answer, 1)},
		{"a chunk", message.DuplexTerrain, []byte{0, 0, 0, 0}, true, make(chan answer, 1)},
	}
	for i, q := range queries {
		go func() {
			status, reply, err := p.Query(t.Context(), duplex.Main, q.code, q.data)
			q.answer <- answer{status, reply, err}
		}()
		waitFor(t, func() {}, q.name+" is in", func() bool {
			d.inbox.mu.Lock()
			defer d.inbox.mu.Unlock()
			return len(d.inbox.list) == i+1
		})
	}
	for _, q := range queries {
		until(t, h, q.name+": a reply", func() bool { return len(q.answer) == 1 })
		got := patient.Value(q.answer)
		if got.err != nil || (got.status == message.DuplexOK) != q.ok {
			t.Errorf("%s: status %d, %v", q.name, got.status, got.err)
		}
		if c, ok := message.ParseChunk(got.reply, message.Big); q.code == message.DuplexTerrain && (!ok || c.Place != (world.ChunkPlace{})) {
			t.Errorf("%s: %x", q.name, got.reply)
		}
	}
}

// The hub gets numbers for duplex while the loop gives some back. It never waits for room among them: if nobody connected,
// it would wait for ever.
func TestTheHubDoesNotWaitForRoomAmongNumbers(t *testing.T) {
	h, _ := newDesk(t, Config{})
	d := &Duplex{service: service{hub: h}, numbers: make(chan int16, spareNumbers)}
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
