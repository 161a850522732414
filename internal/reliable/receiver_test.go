package reliable

import (
	"testing"
	"time"

	"parley/internal/promise"
)

// inbox is a receiver alone.
type inbox struct {
	t *testing.T
	Receiver
	now time.Time
}

func newInbox(t *testing.T, first uint64, c ReceiveConfig) *inbox {
	return &inbox{t: t, now: start, Receiver: NewReceiver(start, first, &c, nil)}
}

// want receives a packet and holds its fate and what is delivered after it.
func (r *inbox) want(p Packet, fate Fate, delivered ...uint64) {
	r.t.Helper()
	p.Data = []byte{byte(p.Number)}
	if got := r.Receive(r.now, p); got != fate {
		r.t.Errorf("number %d is %v, want %v", p.Number, got, fate)
	}
	r.wantDelivered(delivered...)
}

func (r *inbox) wantDelivered(want ...uint64) {
	r.t.Helper()
	for _, n := range want {
		d, ok := r.Next(r.now)
		if !ok || d.Number != n || d.Data[0] != byte(n) {
			r.t.Errorf("delivered %v %v, want %d", d, ok, n)
		}
	}
	if d, ok := r.Next(r.now); ok {
		r.t.Errorf("delivered %d too", d.Number)
	}
	if err := r.Check(); err != nil {
		r.t.Error(err)
	}
}

func (r *inbox) wantAcks(want ...uint64) {
	r.t.Helper()
	buf := make([]uint64, 200)
	got := buf[:r.Acks(r.now, buf)]
	if len(got) != len(want) {
		r.t.Errorf("acknowledged %v, want %v", got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			r.t.Errorf("acknowledged %v, want %v", got, want)
			return
		}
	}
}

func linked(n, back uint64) Packet { return Packet{Number: n, Reliable: true, Lane: 1, Back: back} }
func sure(n uint64) Packet         { return Packet{Number: n, Reliable: true} }
func ordered(n uint64) Packet      { return Packet{Number: n, Reliable: true, Lane: 1} }

func TestLinkedPacketsWaitForTheirPredecessor(t *testing.T) {
	r := newInbox(t, 1, ReceiveConfig{Rules: [lanes]Rule{Linked, Linked}})
	r.want(linked(3, 2), Held)
	r.want(sure(2), Ready, 2)
	r.want(linked(5, 2), Held)
	r.want(linked(1, 0), Ready, 1, 3, 5)
	r.wantAcks(2, 3, 5, 1) // numbers that follow each other are a run, however they came
	r.want(linked(3, 2), Repeat)
	r.wantAcks(3)
	r.want(linked(9, 0), Ready, 9)
}

func TestALinkOutOfItsOrderIsAViolation(t *testing.T) {
	cfg := ReceiveConfig{Rules: [lanes]Rule{Linked, Linked}}
	t.Run("to a packet of no order", func(t *testing.T) {
		r := newInbox(t, 1, cfg)
		r.want(sure(1), Ready, 1)
		r.want(linked(2, 1), Violation)
		r.wantAcks(1)
	})
	t.Run("from a held packet to one of no order", func(t *testing.T) {
		r := newInbox(t, 1, cfg)
		r.want(linked(2, 1), Held)
		r.want(sure(1), Violation)
	})
	t.Run("to a packet of the other order", func(t *testing.T) {
		r := newInbox(t, 1, cfg)
		r.want(Packet{Number: 1, Reliable: true, Lane: 2}, Ready, 1)
		r.want(linked(2, 1), Violation)
	})
	t.Run("past the last delivered", func(t *testing.T) {
		r := newInbox(t, 1, cfg)
		r.want(linked(4, 0), Ready, 4)
		r.want(linked(6, 3), Violation)
	})
	t.Run("none, although one waits", func(t *testing.T) {
		r := newInbox(t, 1, cfg)
		r.want(linked(4, 1), Held)
		r.want(linked(6, 0), Violation)
	})
	t.Run("before the first number", func(t *testing.T) {
		r := newInbox(t, 0, cfg)
		r.want(linked(4, 5), Violation)
	})
}

// "A semi-ordered package is delivered after every reliable package with a
// smaller id. An unordered one is delivered at once." (relay, Behaviour)
func TestSemiOrderedPacketsWaitForAllBeforeThem(t *testing.T) {
	r := newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{Contiguous}, AckDelay: 20 * time.Millisecond})
	r.want(ordered(2), Held)
	r.want(sure(3), Ready, 3)
	r.want(ordered(4), Held)
	r.want(sure(0), Ready, 0)
	r.want(sure(6), Ready, 6)
	r.want(ordered(1), Ready, 1, 2, 4)
	r.wantAcks()
	r.now = r.now.Add(20 * time.Millisecond)
	r.wantAcks(2, 3, 4, 0, 6, 1)
	if since, ok := r.OldestHole(); !ok || since != start {
		t.Errorf("the oldest hole is of %v, %v", since, ok)
	}
}

func TestAcknowledgementsGoWhenEnoughAreGathered(t *testing.T) {
	r := newInbox(t, 0, ReceiveConfig{AckDelay: 20 * time.Millisecond, AckCount: 3})
	r.want(sure(0), Ready, 0)
	r.want(sure(1), Ready, 1)
	r.wantAcks()
	if at, ok := r.NextTimeout(); !ok || at != start.Add(20*time.Millisecond) {
		t.Errorf("the next timeout is %v, %v", at, ok)
	}
	r.want(sure(2), Ready, 2)
	r.wantAcks(0, 1, 2)
	if _, ok := r.NextTimeout(); ok {
		t.Error("a timeout is left")
	}
}

// "Holes are remembered, at most 1,024: a package that would open more is
// dropped unconfirmed." (relay, Behaviour)
func TestHolesAreBounded(t *testing.T) {
	r := newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{Contiguous}})
	r.want(sure(1025), Far)
	r.wantAcks()
	r.want(sure(1024), Ready, 1024)
	r.want(sure(1026), Far)
	r.want(sure(1025), Ready, 1025)
	r.want(sure(500), Ready, 500)
	r.want(sure(1027), Ready, 1027)
	r.wantAcks(1024, 1025, 500, 1027)
}

func TestAPatientLaneGoesOnAfterAWhile(t *testing.T) {
	r := newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{Patient}})
	r.want(ordered(0), Ready, 0)
	r.want(ordered(3), Held)
	r.want(sure(1), Ready, 1)
	r.want(Packet{Number: 2}, Ready, 2, 3)
	r.want(ordered(5), Held)
	if at, ok := r.NextTimeout(); !ok || at != start.Add(0) {
		t.Errorf("acknowledgements are due at %v, %v", at, ok)
	}
	r.wantAcks(0, 3, 1, 5)
	if at, ok := r.NextTimeout(); !ok || at != start.Add(200*time.Millisecond) {
		t.Errorf("the hold ends at %v, %v", at, ok)
	}
	r.SetRTT(100 * time.Millisecond)
	r.now = start.Add(399 * time.Millisecond)
	r.HandleTimeout(r.now)
	r.wantDelivered()
	r.now = start.Add(400 * time.Millisecond)
	r.HandleTimeout(r.now)
	r.wantDelivered(5)
	r.want(ordered(4), Skipped)
	r.wantAcks(4)
	r.want(ordered(6), Ready, 6)
}

func TestOnlyTheNewestIsDelivered(t *testing.T) {
	r := newInbox(t, 1, ReceiveConfig{Rules: [lanes]Rule{Newest}})
	r.want(ordered(5), Ready, 5)
	r.want(ordered(3), Outdated)
	r.want(Packet{Number: 7, Lane: 1}, Ready, 7)
	r.want(sure(6), Ready, 6)
	r.wantAcks(5, 3, 6)
}

// T11: an application that does not read costs no more than the limit, and what
// it could not take comes once it reads again.
func TestAStalledReaderRefusesWithoutAcknowledging(t *testing.T) {
	promise.Keeps(t, "T11", "engine", 1)
	r := newInbox(t, 0, ReceiveConfig{MaxReady: 1000})
	data := make([]byte, 100)
	for n := range uint64(10) {
		if got := r.Receive(r.now, Packet{Number: n, Reliable: true, Data: data}); got != Ready {
			t.Fatalf("number %d is %v", n, got)
		}
	}
	for range 1000 {
		if got := r.Receive(r.now, Packet{Number: 10, Reliable: true, Data: data}); got != Refused {
			t.Fatalf("past the limit: %v", got)
		}
	}
	r.wantAcks(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	for range 6 {
		r.Next(r.now)
	}
	r.wantAcks(9) // again: the reader is back
	if got := r.Receive(r.now, Packet{Number: 10, Reliable: true, Data: data}); got != Ready {
		t.Errorf("after reading: %v", got)
	}
	r.Close()
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}

// What waits for an earlier packet is bounded too; the earlier one itself never
// counts against that, so nothing can lock.
func TestWhatIsHeldIsBounded(t *testing.T) {
	for _, rule := range []Rule{Linked, Contiguous, Patient} {
		t.Run(rule.String(), func(t *testing.T) {
			wantHeldBounded(t, newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{rule}, MaxHeld: 1000}))
			wantHeldBounded(t, newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{rule}, MaxHeldPackets: 10}))
		})
	}
}

// wantHeldBounded has 10 packets held and 10 refused, and all come after the first.
func wantHeldBounded(t *testing.T, r *inbox) {
	t.Helper()
	data := make([]byte, 100)
	for n := uint64(1); n <= 20; n++ {
		want := Held
		if n > 10 {
			want = Refused
		}
		if got := r.Receive(r.now, Packet{Number: n, Reliable: true, Lane: 1, Back: 1, Data: data}); got != want {
			t.Errorf("number %d is %v, want %v", n, got, want)
		}
	}
	r.wantAcks(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if got := r.Receive(r.now, Packet{Number: 0, Reliable: true, Lane: 1, Data: data}); got != Ready {
		t.Errorf("the one that all wait for is %v", got)
	}
	n := 0
	for _, ok := r.Next(r.now); ok; _, ok = r.Next(r.now) {
		n++
	}
	if n != 11 {
		t.Errorf("%d delivered, want 11", n)
	}
}

// A number that the dialect handles itself fills its hole like any other.
func TestAPassedNumberCountsAsReceived(t *testing.T) {
	r := newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{Patient, Linked}})
	r.want(ordered(1), Held)
	if !r.Pass(r.now, 0, true) {
		t.Error("a fresh number was not passed")
	}
	r.wantDelivered(1)
	r.wantAcks(0, 1)
	if r.Pass(r.now, 0, true) || r.Pass(r.now, 1, false) || r.Pass(r.now, 1+FilterSpan+1, true) {
		t.Error("a repeat or a number too far ahead was passed")
	}
	r.want(Packet{Number: 5, Reliable: true, Lane: 2, Back: 2}, Held)
	if r.Pass(r.now, 3, true) {
		t.Error("a number that an ordered packet names as its predecessor was passed")
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}
