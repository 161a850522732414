package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pace"
)

// Pace takes what waits from the budget, and pings when an answer would show more.
func TestPace(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	p := w.join("ann")
	w.drive()
	if budget, unacked := p.conn.Pace(); budget != pace.Unlimited || unacked != 0 {
		t.Errorf("without a shell: a budget of %d, %d not acknowledged", budget, unacked)
	}
	probe, budget := false, 1000
	w.mux.SetHooks(Hooks{
		Pace: func(_ time.Time, c *Conn) (int, int, bool) {
			if c != p.conn {
				t.Error("another connection")
			}
			return budget, 7, probe
		},
		Estimate: func(*Conn) pace.Estimate { return pace.Estimate{Rate: 12} },
	})
	if got, unacked := p.conn.Pace(); got != 1000 || unacked != 7 {
		t.Errorf("a budget of %d, %d not acknowledged", got, unacked)
	}
	if e := p.conn.Path(); e.Rate != 12 {
		t.Errorf("%+v", e)
	}
	p.deaf = true
	w.mux.Say(1, make([]byte, 100))
	queued := p.conn.Queued()
	if got, unacked := p.conn.Pace(); queued < 100 || got != 1000-queued || unacked != 7+queued {
		t.Errorf("with %d bytes queued: a budget of %d, %d not acknowledged", queued, got, unacked)
	}
	budget = 10
	if got, _ := p.conn.Pace(); got != 0 {
		t.Errorf("a budget of %d, of which more is queued", got)
	}
	p.deaf = false
	w.drive()
	before, in := p.conn.Stats().Out, p.conn.Stats().In
	probe = true
	p.conn.Pace()
	w.drive()
	if out, pongs := p.conn.Stats().Out-before, p.conn.Stats().In-in; out != 1 || pongs != 1 {
		t.Errorf("%d messages were sent, and %d came back", out, pongs)
	}
}

// Size is the size of the block that is written.
func TestEntitySize(t *testing.T) {
	attributes := Attributes{testCodec, 1, []byte{0, 1, 2, 3}}
	for has := range 256 {
		e := Entity{Has: Has(has) & hasAll, Attributes: attributes}
		if got, want := e.Size(), len(e.appendTo(nil)); got != want {
			t.Errorf("%08b: %d bytes, want %d", e.Has, got, want)
		}
	}
}
