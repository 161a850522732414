package core

import (
	"testing"

	"parley/internal/kit"
)

// What the connections of a server did is counted together, those included that are over: no counter falls
// while they come and go, and each is the sum of them all at any time.
func TestTrafficNeverFalls(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{}})
	w.max = 64
	conns := map[*Conn]bool{}
	var last Stats
	w.look = func() {
		for _, p := range w.people {
			conns[p.conn] = true
		}
		kit.Traffic(t, &last, w.mux.Traffic(), conns, (*Conn).Stats)
	}
	for range 10 {
		comeAndGo(w, 10)
	}
	if w.mux.Len() != 0 || last.In == 0 || last.Out == 0 || last.OutBytes == 0 {
		t.Errorf("%d connections are left, %+v", w.mux.Len(), last)
	}
}
