package core

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"parley/internal/promise"
)

var oneSeed = flag.Uint64("core.seed", 0, "run this seed of TestRoomsInTrouble alone")

// TestRoomsInTrouble is T78: nodes that are cut off, stopped, killed and started again, whose clocks are wrong, before a store that
// answers late, twice or not at all. One order of entries; the same state everywhere after each tick; what a player was told is in the log once;
// and when the trouble is over all is well within 30 s.
func TestRoomsInTrouble(t *testing.T) {
	n := promise.Keeps(t, "T78", "cluster", promise.Tier(20, 500, 50_000))
	var sum Stats
	first, last := uint64(1), uint64(n)
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	for seed := first; seed <= last; seed++ {
		s := newSim(seed, 3+int(seed%3))
		s.trouble()
		if err := s.verdict(); err != nil {
			t.Fatalf("seed %d (-core.seed=%d): %v", seed, seed, err)
		}
		for _, n := range s.nodes {
			sum.add(n.room.Stats())
		}
	}
	t.Logf("%+v", sum)
	if sum.Elections == 0 || sum.Deposed == 0 || sum.Fetched == 0 || sum.Refused == 0 || sum.Repeated == 0 || sum.Loaded == 0 {
		t.Errorf("too little trouble: %+v", sum)
	}
}

func (s *Stats) add(o Stats) {
	s.Ran += o.Ran
	s.Made += o.Made
	s.Void += o.Void
	s.Fetched += o.Fetched
	s.Elections += o.Elections
	s.LostBids += o.LostBids
	s.Refused += o.Refused
	s.Repeated += o.Repeated
	s.Deposed += o.Deposed
	s.Loaded += o.Loaded
	s.Diverged += o.Diverged
	s.Malformed += o.Malformed
	s.Dropped += o.Dropped
	s.SkippedFor += o.SkippedFor
}

const (
	troubled = 90 * time.Second
	healing  = 30 * time.Second
)

// trouble plays a room for a while with faults, and then without.
func (s *sim) trouble() {
	s.loss = s.rand.Float64() * 0.1
	for _, n := range s.nodes {
		s.after(0, n.play)
		s.after(time.Duration(s.rand.ExpFloat64()*float64(20*time.Second)), n.suffer)
	}
	s.after(time.Duration(s.rand.ExpFloat64()*float64(40*time.Second)), s.fall)
	s.run(troubled)
	s.calm, s.down = true, false
	for _, n := range s.nodes {
		n.cut = false
		n.wakeUp()
	}
	s.run(troubled + healing - time.Second)
	s.store.second = s.store.last
	s.run(troubled + healing)
}

// play has the players of a node ask for something now and then, until it is time to look what became of it.
func (n *simNode) play() {
	s := n.sim
	if s.now > troubled+healing/3 {
		return
	}
	if !n.paused {
		for range 1 + s.rand.IntN(3) {
			if _, err := n.room.Ask(n.clock(), fmt.Appendf(nil, "%04d", s.rand.IntN(10_000))); err == nil {
				n.asked++
			}
		}
		n.turn()
	}
	s.after(time.Duration(s.rand.ExpFloat64()*float64(150*time.Millisecond)), n.play)
}

// suffer is what happens to a node.
func (n *simNode) suffer() {
	s := n.sim
	if s.calm {
		return
	}
	long := time.Duration(s.rand.ExpFloat64() * float64(8*time.Second))
	switch s.rand.IntN(3) {
	case 0: // killed, and started again
		n.life++
		n.paused, n.dead, n.held = true, true, nil
		s.after(long, n.wakeUp)
	case 1: // stopped: it goes on with what has come meanwhile
		n.paused = true
		s.after(long, n.wakeUp)
	case 2:
		n.cut = true
		s.after(long, func() { n.cut = false })
	}
	s.after(long+time.Duration(s.rand.ExpFloat64()*float64(20*time.Second)), n.suffer)
}

// wakeUp ends a stop.
func (n *simNode) wakeUp() {
	if !n.paused {
		return
	}
	n.paused = false
	held := n.held
	n.held = nil
	if n.dead {
		n.dead = false
		n.start()
		return
	}
	for _, fn := range held {
		fn()
	}
	n.do(func() { n.room.HandleTimeout(n.clock()) })
}

// fall takes the store's quorum away for a while, as the loss of a leader does.
func (s *sim) fall() {
	if s.calm {
		return
	}
	s.down = true
	d := 3*time.Second + time.Duration(s.rand.Int64N(int64(3*time.Second)))
	s.after(d, func() { s.down = false })
	s.after(d+time.Duration(s.rand.ExpFloat64()*float64(40*time.Second)), s.fall)
}
