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
	w := newWorld(t, kit.Rand(t).Uint64(), Config{}, simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .1, Duplicate: .1})
	conns := map[*Conn]bool{}
	w.onEvent = func(c *Conn, _ Event) { conns[c] = true }
	var last Stats
	for turn := range 400 {
		if turn < 200 && turn%5 == 0 {
			w.dial(turn / 5)
		}
		w.tell(1+int16(turn%5), uint64(turn), 5*time.Millisecond)
		x := w.clients[w.rng.IntN(len(w.clients))]
		_ = x.Update(x.host.Now(), 1, noise[:8]) // fails when it is not in the game
		x.host.Poke()
		switch w.rng.IntN(20) {
		case 0:
			x.Close(x.host.Now(), "")
			x.host.Poke()
		case 1:
			if x.conn() != nil {
				x.conn().e.Abort(w.mux.now, "")
				w.mux.touch(x.conn())
			}
		}
		for c := range w.mux.Conns() {
			conns[c] = true
		}
		kit.Traffic(t, &last, w.mux.Traffic(), conns, (*Conn).Stats)
	}
	if st := w.mux.Stats(); st.Ended < 10 || w.mux.Len() == 0 || last.FeedIn == 0 || last.MainIn == 0 || last.Updates == 0 {
		t.Errorf("%d came, %d are left, %+v", st.Ended, w.mux.Len(), last)
	}
}
