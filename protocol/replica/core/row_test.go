package core

import (
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/internal/reliable"
)

// The rows of docs/limits.md: hostile peers drive connections to each, and the heap is measured.

func TestAnUnprovenAddressHoldsWhatThePageSays(t *testing.T) {
	var m *Mux // whose table is part of it
	kit.Held(t, "replica", "unproven", func() int {
		m = NewMux(time.Unix(0, 0), Config{}, newShared(1), admission.Key{1})
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
		return m.half.Len()
	})
}

func TestASessionThatNeverLinksHoldsWhatThePageSays(t *testing.T) {
	const n = 1000
	w := lobbyWorld(t, 60, 100)
	kit.Held(t, "replica", "proven, not entered", func() int {
		for i := range n {
			from := hostileAddr(i, 1)
			if !w.session(from) {
				t.Fatal("it was not let in")
			}
			c := w.mux.Conn(from)
			number, clock, part := c.endpoint.near+1, c.endpoint.ServerTime(w.Now()), make([]byte, 1100)
			for j := range uint64(4) { // the half of a message in parts, whose buffer is twice as large
				w.mux.HandleDatagram(w.Now(), from, pieceOf(c, number+j, clock, true, j == 0, part))
				w.mux.PollEvent()
			}
			for j := range uint64(100) { // and what follows is held behind a gap
				w.mux.HandleDatagram(w.Now(), from, pieceOf(c, number+5+j, clock, true, false, part[:1]))
			}
		}
		w.Pass(time.Second)
		return n
	})
	if w.mux.Len() != n {
		t.Errorf("%d are there", w.mux.Len())
	}
}

// A server without EnterWithin: the connection has its place with the handshake, and does nothing with it.
func TestAnIdleConnectionHoldsWhatThePageSays(t *testing.T) {
	const n = 1000
	w := newWorld(t, 62, Config{}, kit.Lan())
	kit.Held(t, "replica", "connected, idle", func() int {
		for i := range n {
			if !w.session(hostileAddr(i, 1)) {
				t.Fatal("it was not let in")
			}
		}
		w.Pass(time.Second)
		return n
	})
	if w.mux.lobby.Taken() != n {
		t.Errorf("%d are there", w.mux.lobby.Taken())
	}
	w.Pass(10 * time.Second)
	if w.mux.Len() != 0 {
		t.Errorf("%d are there that have not answered for 10 s", w.mux.Len())
	}
}

// What a connection takes of the budgets that all share is not in its row: another connection has used them up.
func TestAFullConnectionHoldsWhatThePageSays(t *testing.T) {
	t.Run("tiny", func(t *testing.T) { fullConnection(t, 1) })
	t.Run("of a packet", func(t *testing.T) { fullConnection(t, 1100) })
}

func fullConnection(t *testing.T, size int) {
	const n = 10
	w := lobbyWorld(t, 61, 100)
	w.mux.shared.partial, w.mux.shared.buffers.MaxHeld = reliable.NewBudget(1), 1
	enter := func(i int) (c *Conn, number, clock uint64) {
		from := hostileAddr(i, 1)
		if !w.session(from) || !w.mux.Conn(from).Enter() {
			t.Fatal("it was not let in")
		}
		c = w.mux.Conn(from)
		return c, c.endpoint.near + 1, c.endpoint.ServerTime(w.Now())
	}
	take := func(c *Conn, b []byte) {
		w.mux.HandleDatagram(w.Now(), c.Peer(), b)
		for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
		}
	}
	part := make([]byte, 1100)
	hog, number, clock := enter(n)
	for j := range uint64(10) {
		take(hog, pieceOf(hog, number+j, clock, true, j == 0, part))
	}
	kit.Held(t, "replica", "connected, all queues full", func() int {
		for i := range n {
			c, number, clock := enter(i)
			for c.Send(Unreliable, "n", part[:size]) == nil && c.endpoint.stats.LooseLost == 0 && size > 1 {
			}
			for c.Send(Ordered, "n", part[:size]) == nil { // nothing is acknowledged
			}
			for j := range uint64(6) { // a message in parts, with the largest buffer that it may have of its own
				take(c, pieceOf(c, number, clock, true, j == 0, part))
				number++
			}
			for range 6000 { // it waits for room, and what follows waits for it
				take(c, pieceOf(c, number, clock, true, false, part[:size]))
				number++
			}
			number = c.endpoint.near + 2
			for range 100 { // or behind a gap
				take(c, pieceOf(c, number, clock, true, false, part[:1]))
				number++
			}
			if c.endpoint.State() != StateOpen || c.endpoint.receiver.Waiting() < 100 || !c.endpoint.parts.Waits() {
				t.Fatalf("it is %v and %d packets wait", c.endpoint.State(), c.endpoint.receiver.Waiting())
			}
		}
		return n
	})
}
