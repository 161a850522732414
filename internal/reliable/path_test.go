package reliable

import (
	"testing"
	"time"

	"parley/internal/pace"
)

// value sends a packet of n bytes that is reported if it is lost.
func (s *solo) value(n int) uint64 {
	s.t.Helper()
	number := s.Next()
	if err := s.Send(s.now, make([]byte, n), Options{Report: true}); err != nil {
		s.t.Fatalf("send: %v", err)
	}
	return number
}

// If a queue makes the round trip longer than the resend delay, each value is reported lost before its acknowledgement comes. It is
// a sample all the same: its number was sent once.
func TestALateValueIsASample(t *testing.T) {
	const tick, was, is = 50 * time.Millisecond, 40 * time.Millisecond, 240 * time.Millisecond
	s := newSolo(t, SendConfig{})
	type flying struct {
		number uint64
		back   time.Time
	}
	var wire []flying
	reported := 0
	for i := range 40 {
		s.Budget(s.now)
		took := was
		if i >= 10 {
			took = is
		}
		wire = append(wire, flying{s.value(100), s.now.Add(took)})
		s.poll()
		end := s.now.Add(tick)
		for len(wire) > 0 && !wire[0].back.After(end) {
			s.now = wire[0].back
			s.HandleTimeout(s.now)
			s.ack(wire[0].number)
			wire = wire[1:]
		}
		s.now = end
		s.HandleTimeout(s.now)
		for _, ok := s.PollLost(); ok; _, ok = s.PollLost() {
			reported++
		}
	}
	if got := s.RTT(); got < is*9/10 {
		t.Errorf("the round trip is %v, and is taken for %v", is, got)
	}
	if reported == 0 || reported > 8 {
		t.Errorf("%d values were reported lost, want a few", reported)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// A probe was sent more than once, so its acknowledgement is no sample.
func TestALateProbeIsNoSample(t *testing.T) {
	s := newSolo(t, SendConfig{Span: 4})
	s.Budget(s.now)
	s.Sample(40 * time.Millisecond)
	n := s.value(100)
	s.poll()
	for range 3 {
		if _, err := s.Take(s.now, 10); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Take(s.now, 10); err != ErrWindowFull {
		t.Fatalf("the span is not used up: %v", err)
	}
	if sent := s.wait(3 * time.Second); len(sent) < 2 {
		t.Fatalf("there were %d probes", len(sent))
	}
	before := s.RTT()
	s.ack(n)
	if got := s.RTT(); got != before {
		t.Errorf("the round trip was %v and is taken for %v", before, got)
	}
}

// Values that wait for the window grow old, so none are made behind them.
func TestNoValuesAreMadeBehindValuesThatWait(t *testing.T) {
	s := newSolo(t, SendConfig{})
	if got := s.Budget(s.now); got != firstReach {
		t.Errorf("at first a tick may send %d bytes", got)
	}
	s.Sample(40 * time.Millisecond)
	var numbers []uint64
	for range 2 * firstWindowBytes / mss {
		numbers = append(numbers, s.value(mss))
	}
	went := s.poll()
	if len(went) == 0 || len(went) == len(numbers) {
		t.Fatalf("%d of %d values went out", len(went), len(numbers))
	}
	if got := s.Budget(s.now); got != 0 {
		t.Errorf("while values wait, a tick may send %d bytes", got)
	}
	s.now = s.now.Add(40 * time.Millisecond)
	for len(went) > 0 {
		for _, n := range went {
			s.ack(n)
		}
		s.now = s.now.Add(10 * time.Millisecond)
		went = s.poll()
	}
	if got := s.Budget(s.now); got < firstReach {
		t.Errorf("when all values are out, a tick may send %d bytes", got)
	}
	s.value(100)
	s.Close()
	if s.values != 0 {
		t.Errorf("%d values wait in a closed sender", s.values)
	}
}

// Bulk data that waits does not keep values from being made.
func TestBulkThatWaitsLeavesRoomForValues(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Sample(40 * time.Millisecond)
	for range 2 * firstWindowBytes / mss {
		s.send(mss)
	}
	s.poll()
	if got := s.Budget(s.now); got < firstReach {
		t.Errorf("beside bulk data, a tick may send %d bytes", got)
	}
}

// A connection without ticks has no estimate of its path.
func TestThePathIsMadeWithTheFirstTick(t *testing.T) {
	s := newSolo(t, SendConfig{})
	n := s.send(100)
	s.poll()
	s.now = s.now.Add(40 * time.Millisecond)
	s.ack(n)
	s.Beside(s.now, 100)
	if s.path != nil || s.Narrow() || s.Path() != (pace.Estimate{Budget: pace.Unlimited}) {
		t.Errorf("it has an estimate: %+v", s.Path())
	}
	s.Budget(s.now)
	if s.path == nil {
		t.Error("a tick has made none")
	}
}

// How many bytes of values a narrow path takes was decided when they were made. The window would hold them back a second time, and the
// path would look unused.
func TestValuesOnANarrowPathPassAFullWindow(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Budget(s.now)
	s.Sample(40 * time.Millisecond)
	s.Found(s.now, 50_000, 0)
	for range 2 * firstWindowBytes / mss {
		s.value(mss)
	}
	if went := s.poll(); len(went) != 2*firstWindowBytes/mss {
		t.Errorf("%d of %d values went out", len(went), 2*firstWindowBytes/mss)
	}
	s.send(mss)
	if went := s.poll(); len(went) != 0 {
		t.Error("bulk data passes a full window")
	}
}

// "Copies ahead of loss are for loss without queue": on a narrow path there are none, nor those that were planned when it was wide.
func TestANarrowPathGetsNoCopies(t *testing.T) {
	s := newSolo(t, SendConfig{NoCongestion: true})
	s.Budget(s.now)
	s.Sample(50 * time.Millisecond)
	s.wait(time.Second) // so that there are bytes for copies
	// sends sends a small packet and returns how many copies follow.
	sends := func(before func()) uint64 {
		s.early.update(.16)
		was := s.stats.Copies
		s.send(100)
		s.poll()
		before()
		s.wait(40 * time.Millisecond)
		return s.stats.Copies - was
	}
	if got := sends(func() {}); got == 0 {
		t.Fatal("there are no copies on a wide path")
	}
	if got := sends(func() { s.Found(s.now, 50_000, 0) }); got != 0 {
		t.Errorf("%d copies that were planned before", got)
	}
	if got := sends(func() {}); got != 0 {
		t.Errorf("%d copies on a narrow path", got)
	}
}
