package core

import (
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// T58: a million come, speak and go, some without a word: the tables are empty and the heap
// is as it was. Without PARLEY_PR 40,000. (TestChurnLeavesNothingBehind has
// goroutines and descriptors.)
func TestTheCoreForgetsWhoLeft(t *testing.T) {
	c := &churner{mux: NewMux(start, Config{Lobby: NewOpenLobby(OpenConfig{Unproven: true})}, newShared(1), admission.Key{1}, nil), now: start}
	c.run(churnWarm) // so that pools and tables have their size
	before := shelltest.LiveHeap()
	n := promise.Keeps(t, "T58", "relay", tier(40_000, 1_000_000, 1_000_000))
	c.run(n)
	after, st := shelltest.LiveHeap(), c.mux.Stats()
	if want := uint64(n + churnWarm); st.Admitted != want || st.Gone != want {
		t.Errorf("%d were let in and %d are gone, want %d", st.Admitted, st.Gone, want)
	}
	if c.mux.Len() != 0 || !c.mux.first.peers.Idle() || c.mux.first.direct.Len() != 0 || c.mux.first.Value.(*Room).Len() != 0 {
		t.Errorf("%d peers are left, idle %t", c.mux.Len(), c.mux.first.peers.Idle())
	}
	if grown := after - before; grown > before/100+256<<10 {
		t.Errorf("the heap has grown from %d bytes by %d", before, grown)
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
}

// churnWarm come before anything is counted: as many as are ignored at a time.
const churnWarm = 12_000

// churner is a server core without anything around it that costs.
type churner struct {
	mux  *Mux
	now  time.Time
	come int
	buf  [MaxDatagram]byte
}

// run has n clients come and go, a millisecond apart, and waits for the last to be gone.
func (c *churner) run(n int) {
	hello := pack(Unordered, true, 0, "")
	words := [2][]byte{pack(SemiOrdered, true, 1, "hello"), pack(SemiOrdered, false, 1, "hello")}
	proof, leave := confirmOf(0), pack(Unreliable, true, 0, "")
	for range n {
		a := near(c.come)
		silent, loud := c.come%1024 == 0, 0
		if c.come%32 == 0 {
			loud = 1 // the silent ones hear it
		}
		for _, b := range [][]byte{hello, proof, words[loud], leave} {
			if b[0] == leave[0] && silent {
				break
			}
			c.mux.HandleDatagram(c.now, a, b)
			c.turn()
		}
		c.come++
		c.pass(time.Millisecond)
	}
	for range 40 {
		c.pass(time.Second)
	}
}

func (c *churner) pass(d time.Duration) {
	for end := c.now.Add(d); ; {
		at, ok := c.mux.NextTimeout()
		if !ok || at.After(end) {
			c.now = end
			return
		}
		c.now = at
		c.mux.HandleTimeout(c.now)
		c.turn()
	}
}

func (c *churner) turn() {
	for _, _, ok := c.mux.PollEvent(); ok; _, _, ok = c.mux.PollEvent() {
	}
	for _, _, ok := c.mux.PollTransmit(c.buf[:]); ok; _, _, ok = c.mux.PollTransmit(c.buf[:]) {
	}
	for _, ok := c.mux.PollPort(); ok; _, ok = c.mux.PollPort() {
	}
}
