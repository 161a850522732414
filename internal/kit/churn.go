package kit

import (
	"testing"
	"time"

	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// Churn is T58: connections that come and go leave nothing behind in the core: eight in each cycle, pr cycles in the gate
// and plain in other runs. Half are ended by the server, and half by their clients.
func Churn(t *testing.T, d Dialect, plain, pr int) {
	const warm = 1000
	w := NewTown(t, d, 8)
	cycle := func() {
		w.Connect()
		for i, c := range w.Clients {
			if i%2 == 0 {
				w.Server.Advance(w.Now)
				w.Server.End(w.Addrs[i])
			} else {
				c.End(w.Now)
			}
		}
		for range 4 { // until a server has no more doubts about a goodbye
			w.Turn(400 * time.Millisecond)
		}
		if !w.Server.Idle() || w.Server.Len() != 0 {
			t.Fatalf("something of those who left is held; %d connections are left", w.Server.Len())
		}
	}
	for range warm {
		cycle()
	}
	before, cycles := shelltest.LiveObjects(), promise.Keeps(t, "T58", d.Name, Tier(plain, pr, pr))
	for range cycles {
		cycle()
	}
	// Tables of addresses grow by some 40 objects at one time or another; a leak would be one of a connection at least.
	if after := shelltest.LiveObjects(); after > before+before/100+75 {
		t.Errorf("%d objects after %d more connections, %d before", after, 8*cycles, before)
	}
	if err := w.Server.Check(); err != nil || w.Server.Opened() != uint64(8*(cycles+warm)) {
		t.Errorf("%d connections, %v", w.Server.Opened(), err)
	}
}
