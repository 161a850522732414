package core

import (
	"testing"
	"time"
)

// calmly plays a room of three nodes without faults, until somebody makes its entries.
func calmly(t *testing.T, seed uint64) (s *sim, sequencer *simNode) {
	t.Helper()
	s = newSim(seed, 3, 0)
	s.calm = true
	for _, n := range s.nodes {
		s.after(0, n.play)
	}
	s.run(10 * time.Second)
	for _, n := range s.nodes {
		if n.room.Sequences() {
			sequencer = n
		}
	}
	if sequencer == nil {
		t.Fatalf("seed %d: nobody makes the entries: %v", seed, s.err)
	}
	return s, sequencer
}

// TestAMoveCostsTicksNotSeconds: the room goes on at the named node within three ticks, and wherever it can if none is named.
func TestAMoveCostsTicksNotSeconds(t *testing.T) {
	longest := map[string]time.Duration{}
	defer func() { t.Logf("the longest without an entry: %v", longest) }()
	for seed := range uint64(20) {
		for name, move := range map[string]func(from, to *simNode){
			"to a node": func(from, to *simNode) { from.room.Move(from.clock(), to.id) },
			"drained":   func(from, _ *simNode) { from.room.Drain(from.clock()) },
		} {
			s, from := calmly(t, seed)
			to := s.nodes[(from.index+1)%3]
			s.gap = 0
			from.do(func() { move(from, to) })
			s.run(s.now + 5*time.Second)
			longest[name] = max(longest[name], s.gap)
			if from.room.Sequences() || name == "to a node" && !to.room.Sequences() || s.gap > 150*time.Millisecond {
				t.Errorf("seed %d: %s: a gap of %v, err %v", seed, name, s.gap, s.err)
			}
			s.run(troubled + healing)
			if s.store.second = s.store.last; s.err != nil || from.room.Stats().Given != 1 || from.room.Stats().Loaded != 1 {
				t.Errorf("seed %d: %s: %v, %+v", seed, name, s.verdict(), from.room.Stats())
			}
		}
	}
}

// TestAMoveToNobody: a node that does not begin is not waited for longer than any other.
func TestAMoveToNobody(t *testing.T) {
	s, from := calmly(t, 1)
	s.gap = 0
	from.do(func() { from.room.Move(from.clock(), 12345) })
	s.run(s.now + 10*time.Second)
	if s.gap < silence || s.gap > silence+bidSpread+time.Second || s.err != nil {
		t.Errorf("a gap of %v, %v", s.gap, s.err)
	}
}

// TestADrainedNodeNeverBids: it goes on as a stage, and leaves the room without entries rather than make them.
func TestADrainedNodeNeverBids(t *testing.T) {
	s, from := calmly(t, 1)
	for _, n := range s.nodes {
		if n != from {
			n.do(func() { n.room.Drain(n.clock()) })
		}
	}
	from.do(func() { from.room.Drain(from.clock()) })
	s.run(s.now + time.Second)
	last := s.store.last
	from.do(func() { from.room.Ask(from.clock(), []byte("more")) })
	s.run(s.now + 30*time.Second)
	if s.store.last != last || from.room.Waiting() == 0 {
		t.Errorf("the log goes on to %d of %d; %d requests wait", s.store.last, last, from.room.Waiting())
	}
	if from.room.Move(from.clock(), s.nodes[0].id) {
		t.Error("a room is given away by a node that does not have it")
	}
}
