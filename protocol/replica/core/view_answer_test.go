package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// newAnswered is a room whose client's own entity is the first, over a path whose loss is known.
func newAnswered(t *testing.T, loss float64) *narrow {
	path := kit.Lan()
	path.Loss = loss
	n := newNarrow(t, path, 20)
	for range 400 {
		n.move(maxPool)
	}
	return n
}

// answer is move, which answers something that the player asked for.
func (n *narrow) answer() {
	n.w.mux.Advance(n.w.Now())
	n.w.conn(n.clients[0]).Answer(n.entities[0])
	n.move(maxPool)
}

func TestOnAPathWithoutLossAnAnswerIsToldOnce(t *testing.T) {
	n := newAnswered(t, 0)
	for range 100 {
		if n.answer(); len(n.packets) != 1 {
			t.Fatalf("packets of %v bytes", n.packets)
		}
	}
}

// What answers a player is told once more, in a few bytes, after a few milliseconds where packets are lost.
func TestAnAnswerIsToldTwice(t *testing.T) {
	n := newAnswered(t, .1)
	most := 0
	for range 20 {
		n.answer()
		most = max(most, len(n.packets))
		if len(n.packets) > 1 && n.packets[1] > 60 {
			t.Errorf("it takes %d bytes", n.packets[1])
		}
	}
	if most != 2 {
		t.Errorf("%d packets in a tick, want 2", most)
	}
	drop := false
	n.w.Filter(func(p simnet.Packet) (v simnet.Verdict) {
		if p.From == n.w.server {
			v.Drop, drop = drop, false
		}
		return v
	})
	once, twice := 0, 0
	for range 200 {
		drop = true // the packet of the tick
		if n.move(maxPool); n.seen(0) == n.tick {
			once++
		}
		drop = true
		if n.answer(); n.seen(0) == n.tick {
			twice++
		}
	}
	if once > 0 || twice < 150 { // the path loses a tenth of the 200
		t.Errorf("of 200 ticks whose packet was lost %d were seen, and of 200 answers %d", once, twice)
	}
}

// An entity that is out of sight before it is told again is not told.
func TestAnAnswerOfWhatIsGoneIsNotTold(t *testing.T) {
	n := newAnswered(t, .1)
	c := n.w.conn(n.clients[0])
	n.w.mux.Advance(n.w.Now())
	c.Answer(n.entities[0])
	if c.endpoint.view.answer.slot == nil {
		t.Fatal("nothing is to be told: this tests nothing")
	}
	c.Hide(n.entities[0])
	for range 3 { // some of their packets are lost, and all of these have no answer
		if n.move(maxPool); len(n.packets) > 1 {
			t.Errorf("packets of %v bytes", n.packets)
		}
	}
	if c.endpoint.view.answer.slot != nil {
		t.Error("it is still to be told")
	}
	n.w.Pass(time.Second)
}
