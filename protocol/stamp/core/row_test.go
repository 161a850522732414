package core

import (
	"runtime"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pagetest"
)

// The rows of docs/limits.md: hostile peers drive connections to each, and the heap is measured.

func TestAnUnprovenAddressHoldsNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector has a heap of its own")
	}
	const n = 100_000
	m := NewMux(time.Unix(0, 0), Config{}, newShared(1), kit.Key(1))
	before := pagetest.Heap()
	init := Packet{Kind: KindInit}
	var buf [MaxPacket]byte
	for i := range n {
		m.HandleDatagram(time.Unix(0, 0), hostileAddr(i, 1), init.AppendTo(FromClient, nil))
		m.PollTransmit(buf[:])
	}
	pagetest.Reaches(t, "stamp", "unproven", max(0, pagetest.Heap()-before)/n)
	runtime.KeepAlive(m)
}

func TestASpectatorThatConfirmsNothingHoldsWhatThePageSays(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector has a heap of its own")
	}
	const n = 1000
	w := newWorld(t, 61, Config{}, kit.Lan())
	before := pagetest.Heap()
	for i := range n {
		w.handshake(hostileAddr(i, 1))
		w.Pass(time.Millisecond)
	}
	got := (pagetest.Heap() - before) / n
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, "stamp", "proven, not entered", got)
	if w.mux.Len() != n || w.mux.lobby.Taken() != 0 {
		t.Errorf("%d are there, and %d have entered", w.mux.Len(), w.mux.lobby.Taken())
	}
	runtime.KeepAlive(w)
}

func TestASilentSpectatorHoldsWhatThePageSays(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector has a heap of its own")
	}
	const n = 200
	w := newWorld(t, 60, Config{}, kit.Lan())
	before := pagetest.Heap()
	for i := range n {
		from := hostileAddr(i, 1)
		w.handshake(from)
		w.Pass(time.Millisecond)
		c := w.mux.Conn(from)
		w.confirm(from, firstEntity, c.endpoint.ServerTime(w.Now()))
		for c.SendReport(make([]byte, 20), 1) == nil {
		}
	}
	got := (pagetest.Heap() - before) / n
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, "stamp", "connected, all queues full", got)
	if w.mux.lobby.Taken() != n || got > 64<<10 {
		t.Errorf("%d are there, and hold %d bytes each", w.mux.lobby.Taken(), got)
	}
	runtime.KeepAlive(w)
}
