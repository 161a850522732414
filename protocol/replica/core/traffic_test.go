package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// What the connections of a server did is counted together, those included that are over: no counter falls
// while they come and go over a bad network, and each is the sum of them all at any time.
func TestTrafficNeverFalls(t *testing.T) {
	rng := kit.Rand(t)
	w := newWorld(t, rng.Uint64(), Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1, Duplicate: .1})
	conns := map[*Conn]bool{}
	w.onEvent = func(_ time.Time, c *Conn, _ Event) { conns[c] = true }
	var last Stats
	for turn := range 400 {
		if turn < 200 && turn%5 == 0 {
			w.dial(turn/5, Config{})
		}
		w.mux.Advance(w.server.Now())
		for c := range w.mux.Conns() {
			_ = c.Send(Reliable, "name", []byte("data")) // fails when it is about to end
			switch rng.IntN(400) {
			case 0:
				c.Close("")
			case 1: // as a server that closes does: the last packet goes out when it is over
				c.Close("")
				c.endpoint.Abort(w.server.Now(), "")
			}
		}
		w.server.Poke()
		for _, x := range w.clients {
			_ = x.Send(x.host.Now(), Reliable, "name", []byte("data")) // likewise
			x.host.Poke()
		}
		if x := w.clients[rng.IntN(len(w.clients))]; rng.IntN(20) == 0 {
			x.Close(x.host.Now(), "")
			x.host.Poke()
		}
		w.Pass(10 * time.Millisecond)
		kit.Traffic(t, &last, w.mux.Traffic(), conns, (*Conn).Stats)
	}
	if st := w.mux.Stats(); st.Ended < 10 || w.mux.Len() == 0 || last.Reliable.Resent+last.Reliable.FastResent == 0 || last.Reliable.Repeat == 0 {
		t.Errorf("%d came, %d are left, %+v", st.Ended, w.mux.Len(), last)
	}
}
