package core

import (
	"math"
	"testing"
	"time"

	"parley/internal/pace"
	"parley/simnet"
)

// chooser is a world of one client, with so many elements that all change in each tick.
type chooser struct {
	*world
	x     *client
	value uint64
	count int16
}

func newChooser(t *testing.T, c Config, count int16) *chooser {
	w := newWorld(t, 1, c, simnet.Profile{Delay: 5 * time.Millisecond})
	s := &chooser{world: w, x: w.dial(0), count: count}
	w.runUntil("joined", func() bool { return s.x.State() == StateOpen && s.x.conn() != nil && s.x.conn().Joined() }, 10*time.Second)
	s.tick(nil)
	w.runUntil("synced", func() bool { return len(s.x.state) == int(count) }, 10*time.Second)
	return s
}

// tick changes all elements, and has the program tell of some.
func (s *chooser) tick(choose func()) {
	s.value++
	for sid := int16(1); sid <= s.count; sid++ {
		s.set(sid, s.value)
	}
	if choose != nil {
		choose()
	}
	s.flush(50 * time.Millisecond)
}

// newest is how many elements the client knows as they are.
func (s *chooser) newest() (n int) {
	for sid := int16(1); sid <= s.count; sid++ {
		if s.x.state[sid] == string(valueOf(s.value)) {
			n++
		}
	}
	return n
}

// While the program chooses, a client is told what the program says, with and without a feed. When it no longer does, the
// client is told everything.
func TestTheProgramChooses(t *testing.T) {
	for _, feed := range []bool{true, false} {
		s := newChooser(t, Config{Resync: -1}, 100)
		c := s.x.conn()
		if !feed {
			c.e.setUp(false)
		}
		c.Choose(true)
		want := 3 + 9
		if feed {
			want += datagramBytes + HeaderBytes
		}
		for range 5 {
			s.tick(func() {
				for sid := int16(1); sid <= 7; sid++ {
					if n := c.Tell(sid); n != want {
						t.Fatalf("feed %v: an element takes %d bytes, want %d", feed, n, want)
					}
				}
			})
			if n := s.newest(); n != 7 {
				t.Fatalf("feed %v: %d elements are the newest, want 7", feed, n)
			}
		}
		if n := c.Tell(999); n != 0 {
			t.Errorf("an element that there is not takes %d bytes", n)
		}
		c.Hide(5)
		s.tick(func() {
			if n := c.Tell(5); n != 0 {
				t.Errorf("an element that the client may not see takes %d bytes", n)
			}
		})
		if _, ok := s.x.state[5]; ok {
			t.Error("it has not heard that an element is out of sight")
		}
		c.Show(5)
		c.Choose(false)
		s.tick(nil)
		if n := s.newest(); n != 100 {
			t.Errorf("feed %v: %d elements are the newest, want all", feed, n)
		}
		if held := len(s.mux.elements.log); held > 300 {
			t.Errorf("a log of %d changes", held)
		}
	}
}

// A sync of everything goes out in the parts that the program allows, and ends.
func TestASyncIsSpread(t *testing.T) {
	s := newChooser(t, Config{Resync: -1}, 100)
	c := s.x.conn()
	s.run(2 * time.Second) // so that another may begin
	c.Choose(true)
	c.resync()
	before, ticks := c.Stats().MainOutBytes, 0
	synced := s.x.synced
	for ; s.x.synced == synced; ticks++ {
		if ticks == 100 {
			t.Fatal("the sync has no end")
		}
		out := c.Stats().MainOutBytes
		s.tick(func() { c.Spread(120) })
		if n := c.Stats().MainOutBytes - out; n > 120+2*12 {
			t.Fatalf("%d bytes in a tick", n)
		}
	}
	if n := c.Stats().MainOutBytes - before; n < 1200 || ticks < 8 {
		t.Errorf("%d bytes in %d ticks", n, ticks)
	}
	if c.Spread(0) {
		t.Error("there is still one")
	}
}

// Pace has the bytes of the feed counted, what waits taken from the budget, and a probe sent that changes nothing.
func TestPace(t *testing.T) {
	s := newChooser(t, Config{Resync: -1}, 10)
	c := s.x.conn()
	if budget, _ := c.Pace(); budget != pace.Unlimited {
		t.Errorf("a budget of %d without a shell", budget)
	}
	beside, probe, budget := -1, false, 1000
	s.mux.SetHooks(Hooks{Pace: func(now time.Time, of *Conn, n int) (int, int, bool) {
		if of != c {
			t.Error("another connection")
		}
		beside = n
		return budget, 5, probe
	}})
	c.Pace()
	s.tick(nil)
	if c.Pace(); beside != 10*(datagramBytes+HeaderBytes+3+9) {
		t.Errorf("%d bytes beside", beside)
	}
	if got, unacked := c.Pace(); got != 1000 || unacked != 5 || beside != 0 {
		t.Errorf("a budget of %d, %d not acknowledged, %d beside", got, unacked, beside)
	}
	known, out := len(s.x.state), c.Stats().MainOutBytes
	probe = true
	if got, unacked := c.Pace(); got != 1000 || unacked != 5 {
		t.Errorf("a budget of %d, %d not acknowledged", got, unacked)
	}
	if got, unacked := c.Pace(); got != 996 || unacked != 9 { // the first probe waits
		t.Errorf("a budget of %d, %d not acknowledged", got, unacked)
	}
	s.tick(nil)
	if n := c.Stats().MainOutBytes - out; n != 8 || len(s.x.state) != known || s.x.closed != nil {
		t.Errorf("two probes have %d bytes; %d elements, were %d", n, len(s.x.state), known)
	}
	s.set(math.MaxInt16, 7) // an element that a program has chosen so is not declared gone
	s.tick(nil)
	c.Pace()
	s.tick(nil)
	if s.x.state[math.MaxInt16] != string(valueOf(7)) {
		t.Error("a probe has taken an element away")
	}
	budget = pace.Unlimited
	if got, _ := c.Pace(); got != pace.Unlimited {
		t.Errorf("a budget of %d", got)
	}
}
