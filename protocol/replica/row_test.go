package replica

import (
	"runtime"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/pagetest"
)

// The rows of docs/limits.md: hostile peers drive connections to each, and the heap is measured.

func TestAnUnprovenAddressHoldsWhatThePageSays(t *testing.T) {
	if underRace {
		t.Skip("the race detector has a heap of its own")
	}
	before := pagetest.Heap()
	m := NewMux(time.Unix(0, 0), Config{}, newShared(1), admission.Key{1})
	init := Packet{Kind: KindInit, Extended: true}
	ack := Packet{Kind: KindAck, Acked: 1}
	var buf [1500]byte
	for i := range 20_000 {
		from := hostileAddr(i, 1)
		for range 2 {
			m.HandleDatagram(time.Unix(0, 0), from, init.AppendTo(nil))
		}
		m.HandleDatagram(time.Unix(0, 0), from, ack.AppendTo(nil))
		for _, _, ok := m.PollTransmit(buf[:]); ok; _, _, ok = m.PollTransmit(buf[:]) {
		}
	}
	got := (pagetest.Heap() - before) / m.half.Len()
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, "replica", "unproven", got)
	runtime.KeepAlive(m)
}

func TestASessionThatNeverLinksHoldsWhatThePageSays(t *testing.T) {
	if underRace {
		t.Skip("the race detector has a heap of its own")
	}
	const n = 1000
	w := lobbyWorld(t, 60, 100)
	before := pagetest.Heap()
	for i := range n {
		if !w.session(hostileAddr(i, 1)) {
			t.Fatal("it was not let in")
		}
	}
	w.run(time.Second)
	got := (pagetest.Heap() - before) / n
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, "replica", "proven, not entered", got)
	if w.mux.Len() != n {
		t.Errorf("%d are there", w.mux.Len())
	}
	runtime.KeepAlive(w)
}

func TestAFullConnectionHoldsWhatThePageSays(t *testing.T) {
	if underRace {
		t.Skip("the race detector has a heap of its own")
	}
	const n = 10
	w := lobbyWorld(t, 61, 100)
	before := pagetest.Heap()
	for i := range n {
		from := hostileAddr(i, 1)
		if !w.session(from) {
			t.Fatal("it was not let in")
		}
		c := w.mux.Conn(from)
		c.Enter()
		for c.Send(Ordered, "n", []byte{1}) == nil { // nothing is acknowledged
		}
		for c.Send(Unreliable, "n", []byte{1}) == nil && c.stats.LooseLost == 0 {
		}
		number, clock := c.near+1, c.ServerTime(w.net.Now())
		part := make([]byte, 1100)
		for j := range 900 { // most of a message in parts
			w.mux.HandleDatagram(w.net.Now(), from, pieceOf(c, number, clock, true, j == 0, part))
			number++
			for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
			}
		}
		number++
		for range 4096 { // and what follows it is held behind a gap
			w.mux.HandleDatagram(w.net.Now(), from, pieceOf(c, number, clock, true, false, part[:1]))
			number++
		}
		if c.State() != StateOpen || c.receiver.Waiting() < 3000 {
			t.Fatalf("it is %v and holds %d packets", c.State(), c.receiver.Waiting())
		}
	}
	got := (pagetest.Heap() - before) / n
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, "replica", "connected, all queues full", got)
	runtime.KeepAlive(w)
}
