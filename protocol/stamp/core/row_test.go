package core

import (
	"testing"
	"time"

	"parley/internal/kit"
)

// The rows of docs/limits.md: hostile peers drive connections to each, and the heap is measured.

func TestAnUnprovenAddressHoldsNothing(t *testing.T) {
	const n = 100_000
	m := NewMux(time.Unix(0, 0), Config{}, newShared(1), kit.Key(1))
	kit.Held(t, "stamp", "unproven", func() int {
		init := Packet{Kind: KindInit}
		var buf [MaxPacket]byte
		for i := range n {
			m.HandleDatagram(time.Unix(0, 0), hostileAddr(i, 1), init.AppendTo(FromClient, nil))
			m.PollTransmit(buf[:])
		}
		return n
	})
}

func TestASpectatorThatConfirmsNothingHoldsWhatThePageSays(t *testing.T) {
	const n = 1000
	w := newWorld(t, 61, Config{}, kit.Lan())
	kit.Held(t, "stamp", "proven, not entered", func() int {
		for i := range n {
			w.handshake(hostileAddr(i, 1))
			w.Pass(time.Millisecond)
		}
		return n
	})
	if w.mux.Len() != n || w.mux.lobby.Taken() != 0 {
		t.Errorf("%d are there, and %d have entered", w.mux.Len(), w.mux.lobby.Taken())
	}
}

func TestASilentSpectatorHoldsWhatThePageSays(t *testing.T) {
	const n = 200
	w := newWorld(t, 60, Config{}, kit.Lan())
	got := kit.Held(t, "stamp", "connected, all queues full", func() int {
		for i := range n {
			from := hostileAddr(i, 1)
			w.handshake(from)
			w.Pass(time.Millisecond)
			c := w.mux.Conn(from)
			w.confirm(from, firstEntity, c.endpoint.ServerTime(w.Now()))
			for c.SendReport(make([]byte, 20), 1) == nil {
			}
		}
		return n
	})
	if w.mux.lobby.Taken() != n || got > 64<<10 {
		t.Errorf("%d are there, and hold %d bytes each", w.mux.lobby.Taken(), got)
	}
}
