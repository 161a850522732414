package core

import (
	"math/rand/v2"
	"testing"
	"time"
)

// FuzzOps runs a script of what players, operators and bad luck do to a room of three nodes, and then lets it heal: whatever it was,
// there is one order of entries, and nothing that was told is lost.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 3, 40, 0, 5, 4, 40, 1, 2, 6, 40})
	f.Add([]byte("ask kill move drain ask cut ask pause ask wake"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) <= 120 {
			runScript(t, script)
		}
	})
}

// The same scripts, made at random, in every plain run.
func TestRandomOps(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		script := make([]byte, 80)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		if runScript(t, script); t.Failed() {
			t.Fatalf("seed=%d, script %q", seed, script)
		}
	}
}

func runScript(t *testing.T, script []byte) {
	next := func() (b byte) {
		if len(script) > 0 {
			b, script = script[0], script[1:]
		}
		return b
	}
	first := next()
	s := newSim(uint64(first), 3, time.Duration(first%2)*time.Second)
	s.loss = float64(next()%8) / 50
	for len(script) > 0 {
		op := next()
		s.op(op%12, s.nodes[op/12%3], s.nodes[op/36%3])
		s.run(s.now + time.Duration(next())*5*time.Millisecond)
	}
	s.heal()
	if err := s.verdict(); err != nil {
		t.Error(err)
	}
}

// op does one thing to a node. Most undo themselves when they come again.
func (s *sim) op(what byte, n, other *simNode) {
	switch {
	case what == 0:
		s.down = !s.down
	case what == 1:
		n.cut = !n.cut
	case what == 2:
		n.deaf = !n.deaf
	case n.paused:
		n.wakeUp()
	case what == 3:
		n.paused = true
	case what == 4:
		n.kill()
	case what == 5:
		n.drain()
	case what == 6:
		n.do(func() { n.room.Move(n.clock(), other.id) })
	case what == 7 && !n.room.Sequences() && n.world.state.tick > 0 && n.room.Stats().Diverged == 0:
		n.world.bad = true
		n.do(func() { n.room.HandleTimeout(n.clock()) })
	default:
		n.ask(int(what))
	}
}
