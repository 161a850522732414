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
	n := promise.Keeps(t, "T78", "cluster", promise.Tier(20, 500, 2_000))
	var sum Stats
	first, last := uint64(1), uint64(n)
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	for seed := first; seed <= last; seed++ {
		s := newSim(seed, 3+int(seed%3), time.Duration(seed/3%2)*time.Second)
		s.trouble()
		if err := s.verdict(); err != nil {
			t.Fatalf("seed %d (-core.seed=%d): %v", seed, seed, err)
		}
		for _, n := range s.nodes {
			sum.add(n.room.Stats())
		}
	}
	t.Logf("%+v", sum)
	if last-first < 19 { // too few runs for all that can happen
		return
	}
	if sum.Elections == 0 || sum.Deposed == 0 || sum.Fetched == 0 || sum.Refused == 0 || sum.Repeated == 0 || sum.Loaded == 0 ||
		sum.Given == 0 || sum.Taken == 0 || sum.Ahead == 0 || sum.Diverged == 0 {
		t.Errorf("too little trouble: %+v", sum)
	}
}

func (s *Stats) add(o Stats) {
	s.Ran += o.Ran
	s.Ahead += o.Ahead
	s.Undone += o.Undone
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
	s.Complaints += o.Complaints
	s.Malformed += o.Malformed
	s.Dropped += o.Dropped
	s.Given += o.Given
	s.Taken += o.Taken
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
	if s.batch > 0 { // that one is alone for a while
		for _, n := range s.nodes[1:] {
			n.kill()
			s.after(time.Duration(s.rand.Int64N(int64(troubled))), n.wakeUp)
		}
	}
	s.after(time.Duration(s.rand.ExpFloat64()*float64(15*time.Second)), s.move)
	s.after(time.Duration(s.rand.ExpFloat64()*float64(40*time.Second)), s.fall)
	s.after(time.Duration(s.rand.ExpFloat64()*float64(40*time.Second)), s.rest)
	s.run(troubled)
	s.heal()
}

// heal ends all faults, and plays on until all is to be well.
func (s *sim) heal() {
	s.calm, s.down, s.quiet = true, false, false
	for _, n := range s.nodes {
		n.cut, n.deaf = false, false
		n.wakeUp()
		if n.drains {
			n.start()
		}
	}
	end := s.now + healing
	s.run(end - time.Second)
	s.store.second = s.store.last
	s.run(end)
}

// play has the players of a node ask for something now and then, until it is time to look what became of it.
func (n *simNode) play() {
	s := n.sim
	if s.now > troubled+healing/3 {
		return
	}
	if !n.paused && !s.quiet {
		n.ask(1 + s.rand.IntN(3))
	}
	s.after(time.Duration(s.rand.ExpFloat64()*float64(150*time.Millisecond)), n.play)
}

// ask has players of a node ask for so much.
func (n *simNode) ask(count int) {
	for range count {
		if _, err := n.room.Ask(n.clock(), fmt.Appendf(nil, "%04d", n.sim.rand.IntN(10_000))); err == nil {
			n.asked++
		}
	}
	n.turn()
}

// suffer is what happens to a node.
func (n *simNode) suffer() {
	s := n.sim
	if s.calm {
		return
	}
	long := time.Duration(s.rand.ExpFloat64() * float64(8*time.Second))
	if s.rand.IntN(8) == 0 {
		long = time.Duration(s.rand.Int64N(int64(60 * time.Second)))
	}
	if n.dead {
		s.after(long, n.suffer)
		return
	}
	switch s.rand.IntN(5) {
	case 0: // killed, and started again
		n.kill()
		s.after(long, n.wakeUp)
	case 1: // stopped: it goes on with what has come meanwhile
		n.paused = true
		s.after(long, n.wakeUp)
	case 2:
		n.cut = true
		s.after(long, func() { n.cut = false })
	case 3: // the others do not hear it, and it does not hear them
		n.deaf = true
		s.after(2*long, func() { n.deaf = false })
	case 4: // a bit of its memory falls over; not so often that it stops
		if !n.room.Sequences() && s.now > n.fell+divergedSpan/2+time.Second {
			n.fell, n.world.bad = s.now, n.world.state.tick > 0
		}
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

// move has a sequencer give the room away now and then, to one that may be dead. A node that drains is started again some time later.
func (s *sim) move() {
	if s.calm {
		return
	}
	heir := s.nodes[s.rand.IntN(len(s.nodes))]
	for _, n := range s.nodes {
		if n.room.role == sequencing && !n.paused {
			n.do(func() { n.room.Move(n.clock(), heir.id) })
		}
	}
	if s.rand.IntN(3) == 0 && !heir.paused {
		heir.drain()
	}
	s.after(time.Duration(s.rand.ExpFloat64()*float64(15*time.Second)), s.move)
}

func (n *simNode) drain() {
	life := n.life
	n.do(func() { n.drains = true; n.room.Drain(n.clock()) })
	n.sim.after(time.Duration(n.sim.rand.Int64N(int64(10*time.Second))), func() {
		if n.life == life && !n.paused && !n.sim.calm {
			n.start()
		}
	})
}

// rest has all players be quiet for a while, until the room sleeps.
func (s *sim) rest() {
	s.quiet = !s.calm
	s.after(time.Duration(s.rand.Int64N(int64(20*time.Second))), func() { s.quiet = false })
	s.after(20*time.Second+time.Duration(s.rand.ExpFloat64()*float64(40*time.Second)), s.rest)
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

// TestAStoreThatHasLostTheLog: the store has no entry any more of a room that sleeps. The room goes on from what its stages have run, also if two of them take
// themselves for its sequencer, and a node that comes later, and has an older snapshot only, runs the same.
func TestAStoreThatHasLostTheLog(t *testing.T) {
	for seed := range uint64(20) {
		s, sequencer := calmly(t, seed)
		s.run(s.now + snapshotEach)
		s.quiet = true
		s.run(s.now + 15*time.Second)
		s.store.log, s.store.empty = nil, true
		s.quiet, s.gap = false, 0
		if seed%2 == 1 {
			s.after(time.Duration(seed)*emptyFor/10, func() { sequencer.paused = true })
			s.after(8*time.Second, sequencer.wakeUp)
		}
		late := s.nodes[(sequencer.index+1)%3]
		s.after(8*time.Second+time.Duration(seed)*time.Second/4, func() {
			late.kill()
			late.wakeUp()
		})
		s.run(troubled + healing - time.Second)
		s.store.second = s.store.last
		s.run(troubled + healing)
		if err := s.verdict(); err != nil || s.store.empty {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
