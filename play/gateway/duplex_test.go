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
	c := must(duplex.Dial(t.Context(), d.Addr().String(), duplex.Config{Schema: schema.Duplex(h.sim.Schema())}))
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
	for _, tt := range []struct {
		name string
		code uint8
		data []byte
		ok   bool
	}{
		{"a line", message.DuplexSay, []byte("\x00\x05hello"), true},
		{"a throw", message.DuplexAct, throw, true},
		{"another at once", message.DuplexAct, throw, false},
		{"a chunk", message.DuplexTerrain, []byte{0, 0, 0, 0}, true},
	} {
		// Queries are answered by a tick, so they wait in goroutines of their own.
		var status uint8
		var reply []byte
		done := make(chan error, 1)
		go func() {
			var err error
			status, reply, err = p.Query(t.Context(), duplex.Main, tt.code, tt.data)
			done <- err
		}()
		until(t, h, tt.name+": a reply", func() bool { return len(done) == 1 })
		if err := patient.Value(done); err != nil || (status == message.DuplexOK) != tt.ok {
			t.Errorf("%s: status %d, %v", tt.name, status, err)
		}
		if c, ok := message.ParseChunk(reply, message.Big); tt.code == message.DuplexTerrain && (!ok || c.Place != (world.ChunkPlace{})) {
			t.Errorf("%s: %x", tt.name, reply)
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
