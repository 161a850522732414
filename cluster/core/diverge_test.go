package core

import (
	"testing"
	"time"
)

// TestAStageThatDiffers: it tells its players nothing more of the state that is another than the log's, has the sequencer save its own, and goes
// on with that. Another stage that has diverged of the same tick uses the same.
func TestAStageThatDiffers(t *testing.T) {
	for seed := range uint64(20) {
		s, sequencer := calmly(t, seed)
		others := []*simNode{s.nodes[(sequencer.index+1)%3], s.nodes[(sequencer.index+2)%3]}
		before := sequencer.room.Stats()
		for _, n := range others {
			n.world.bad = true
		}
		s.run(s.now + complainEach + 250*time.Millisecond)
		for _, n := range others {
			if st := n.room.Stats(); st.Diverged != 1 || len(n.differs) != 1 || n.differs[0].Theirs == nil || n.world.bad || n.room.Seq()+10 < s.store.last {
				t.Errorf("seed %d: %+v, at %d of %d", seed, st, n.room.Seq(), s.store.last)
			}
		}
		after := sequencer.room.Stats()
		if after.Complaints != before.Complaints+1 || after.Deposed != 0 {
			t.Errorf("seed %d: %+v", seed, after)
		}
		s.run(troubled + healing)
		s.store.second = s.store.last
		if err := s.verdict(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestAStageThatDiffersTooOften stops, the third time within a minute.
func TestAStageThatDiffersTooOften(t *testing.T) {
	s, sequencer := calmly(t, 1)
	n := s.nodes[(sequencer.index+1)%3]
	for _, wait := range []time.Duration{5 * time.Second, divergedSpan, 10 * time.Second, 10 * time.Second} {
		n.world.bad = true
		if s.run(s.now + wait); n.stopped {
			t.Fatal("it stops too soon")
		}
	}
	n.world.bad = true
	s.run(s.now + 2*time.Second)
	if _, more := n.room.NextTimeout(); !n.stopped || more || len(n.differs) != 5 || s.err != nil {
		t.Errorf("stopped %v, %d differences, %v", n.stopped, len(n.differs), s.err)
	}
}

// TestNobodyAnswersAComplaint: a stage whose sequencer does not hear it goes on with what the log has.
func TestNobodyAnswersAComplaint(t *testing.T) {
	s, sequencer := calmly(t, 2)
	n := s.nodes[(sequencer.index+1)%3]
	n.deaf, n.world.bad = true, true
	s.run(s.now + complainFor + 2*time.Second)
	if len(n.differs) != 1 || n.differs[0].Theirs != nil || n.room.Seq()+10 < s.store.last || s.err != nil {
		t.Errorf("%d differences, at %d of %d, %v", len(n.differs), n.room.Seq(), s.store.last, s.err)
	}
}
