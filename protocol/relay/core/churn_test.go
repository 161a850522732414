package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// T58: a million come, speak and go, some without a word: the tables are empty and the heap
// is as it was. Without PARLEY_PR 40,000. (TestChurnLeavesNothingBehind has
// goroutines and descriptors.)
func TestTheCoreForgetsWhoLeft(t *testing.T) {
	const warm = 12_000 // as many as are ignored at a time
	h := newHall(t, Config{})
	h.deaf = true
	churn(h, 0, warm) // so that pools and tables have their size
	before := shelltest.LiveHeap()
	n := promise.Keeps(t, "T58", "relay", kit.Tier(10_000, 1_000_000, 1_000_000))
	churn(h, warm, n)
	after, st := shelltest.LiveHeap(), h.mux.Stats()
	if want := uint64(n + warm); st.Admitted != want || st.Gone != want {
		t.Errorf("%d were let in and %d are gone, want %d", st.Admitted, st.Gone, want)
	}
	if m := h.mux; m.Len() != 0 || !m.first.peers.Idle() || m.first.direct.Len() != 0 || m.first.Value.(*Room).Len() != 0 {
		t.Errorf("%d peers are left, idle %t", m.Len(), m.first.peers.Idle())
	}
	if grown := after - before; grown > before/100+256<<10 {
		t.Errorf("the heap has grown from %d bytes by %d", before, grown)
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
}

// churn has n clients come and go, a millisecond apart, and waits for the last to be gone.
func churn(h *hall, first, n int) {
	hello, proof, leave := pack(Unordered, true, 0, ""), confirmOf(0), pack(Unreliable, true, 0, "")
	words := [2][]byte{pack(SemiOrdered, true, 1, "hello"), pack(SemiOrdered, false, 1, "hello")}
	for i := first; i < first+n; i++ {
		loud := 0
		if i%32 == 0 {
			loud = 1 // the silent ones hear it
		}
		for _, b := range [][]byte{hello, proof, words[loud]} {
			h.in(near(i), b)
		}
		if i%1024 != 0 {
			h.in(near(i), leave)
		}
		h.wait(time.Millisecond)
	}
	h.wait(40 * time.Second)
}
