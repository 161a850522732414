package core

import (
	"testing"
	"time"

	"parley/internal/kit"
)

// What the peers of a server did is counted together, those included that are over: no counter falls while
// they come and go at several ports, not even between a port's end and the moment when its peers are
// told, and each is the sum of them all at any time.
func TestTrafficNeverFalls(t *testing.T) {
	rng := kit.Rand(t)
	h := newHall(t, Config{Lobby: &hotel{}})
	peers := map[*Peer]bool{}
	var last Stats
	check := func() {
		t.Helper()
		for p := range h.mux.Peers() {
			peers[p] = true
		}
		kit.Traffic(t, &last, h.mux.Traffic(), peers, func(p *Peer) Stats { return p.end.Stats() })
	}
	var next uint32
	for range 20 {
		port, err := h.mux.Open()
		if err != nil {
			t.Fatal(err)
		}
		port.Value = h.mux.NewRoom()
		for range 100 {
			i, at := rng.IntN(10), port
			if i < 2 {
				at = h.mux.First()
			}
			mode := []Mode{Unordered, SemiOrdered, Unreliable}[rng.IntN(3)]
			at.HandleDatagram(h.now, addr(i), pack(mode, i < 2, next%50, "hello"))
			next++
			check()
			h.turn()
			check()
			if p := at.Peer(addr(i)); p != nil && rng.IntN(20) == 0 {
				p.Remove(Close{Reason: ReasonClosed})
				check()
			}
			h.wait(10 * time.Millisecond)
			check()
		}
		port.Close()
		check()
		h.turn()
		check()
		h.told()
		clear(h.out)
		h.others = h.others[:0]
	}
	if st := h.mux.Stats(); st.Gone < 20 || last.Reliable.Resent == 0 || last.Reliable.Delivered == 0 || last.Reliable.Discarded == 0 {
		t.Errorf("%d came, %+v", st.Gone, last)
	}
}
