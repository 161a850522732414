package reliable

import (
	"fmt"
	"testing"
	"time"
)

// checkWire returns an error if the rings of the wire do not hold exactly the flying packets, in their orders.
func (s *Sender) checkWire() error {
	var left [2]uint32
	bytes := 0
	for i := range s.flights.count {
		if e := s.flights.at(s.flights.head + i); e.state == flying {
			left[timers(e)]++
			bytes += len(e.data)
		}
	}
	if left != s.wire.left || bytes != s.inFlight {
		return fmt.Errorf("%d packets fly, %d bytes of them; the wire has %d, and %d", left, bytes, s.wire.left, s.inFlight)
	}
	id, last := s.wire.head, uint64(0)
	for range s.wire.count() {
		e := s.flights.at(id)
		if e.tx < last || s.flights.at(e.next).prev != id {
			return fmt.Errorf("transmission %d is behind %d", e.tx, last)
		}
		id, last = e.next, e.tx
	}
	for kind, n := range s.wire.left {
		id, due := s.wire.soonest[kind], time.Duration(0)
		for range n {
			e := s.flights.at(id)
			if e.due < due || timers(e) != kind || s.flights.at(e.chain).sooner != id {
				return fmt.Errorf("a packet of %d resends, due at %v, is behind one due at %v in ring %d", e.resends, e.due, due, kind)
			}
			if e.due < s.timerAt || s.timerAt == 0 {
				return fmt.Errorf("a packet is due at %v, and the timer is set to %v", e.due, s.timerAt)
			}
			id, due = e.chain, e.due
		}
		if n > 0 && id != s.wire.soonest[kind] {
			return fmt.Errorf("ring %d has more than %d packets", kind, n)
		}
	}
	return nil
}

// late is a sender whose peer acknowledges nothing. With each step it sends one value and gives one up, and so many fly in between.
type late struct {
	solo
	every time.Duration
	lost  int
}

func newLate(t testing.TB, flying int) *late {
	x := &late{solo: solo{now: start, Sender: NewSender(start, 0, &SendConfig{Span: 1 << 40, NoCongestion: true, NoEarly: true}, nil, newRand(1))}}
	x.every = x.cfg.FirstRTO / time.Duration(flying)
	for range 2 * flying {
		x.step(t)
	}
	if n := int(x.wire.count()); n < flying-1 || n > flying+1 {
		t.Fatalf("%d packets fly, want %d", n, flying)
	}
	x.lost = 0
	return x
}

var aValue [32]byte

func (x *late) step(t testing.TB) {
	x.now = x.now.Add(x.every)
	x.HandleTimeout(x.now)
	for _, ok := x.PollLost(); ok; _, ok = x.PollLost() {
		x.lost++
	}
	if err := x.Send(x.now, aValue[:], Options{Report: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok := x.Poll(x.now); !ok {
		t.Fatal("a value was not sent")
	}
}

// A peer that is late has many packets in flight, and each of them has a timer. An expiry looks at those that have run out, else an
// overloaded server spends its time on peers that it makes late itself.
func TestAnExpiryCostsWhatItFinds(t *testing.T) {
	least := func(flying int) time.Duration {
		x, best := newLate(t, flying), time.Hour
		for range 50 {
			began := time.Now()
			for range 200 {
				x.step(t)
			}
			best = min(best, time.Since(began))
		}
		if x.lost < 9900 || x.lost > 10_100 {
			t.Errorf("%d of 10,000 values were given up", x.lost)
		}
		if err := x.checkWire(); err != nil {
			t.Error(err)
		}
		return best / 200
	}
	few, many := least(16), least(2048)
	t.Logf("a value sent and given up takes %v with 16 in flight, and %v with 2,048", few, many)
	if many > 10*few {
		t.Errorf("a value sent and given up takes %v with 16 in flight, and %v with 2,048", few, many)
	}
}

func TestAnExpiryAllocatesNothing(t *testing.T) {
	x := newLate(t, 256)
	if n := testing.AllocsPerRun(1000, func() { x.step(t) }); n != 0 {
		t.Errorf("%.1f allocations", n)
	}
}

// The timers of packets that were resent run out in their order too, whatever their backoff, and also when the resend delay falls.
func TestTimersRunOutInOrder(t *testing.T) {
	s := newSolo(t, SendConfig{NoCongestion: true, NoEarly: true, TimerOnly: true, GiveUpAfter: time.Hour})
	s.Sample(400 * time.Millisecond)
	for range 300 {
		s.send(50)
		s.poll()
		s.Sample(20 * time.Millisecond) // each is due before the one before it, by and by
		if n := s.Next(); n%3 == 0 {
			s.ack(n - 1)
		}
		for _, x := range s.wait(7 * time.Millisecond) {
			if _, e := s.flights.find(x.number); e != nil && e.resends == 0 {
				t.Fatalf("number %d went out again and was not resent", x.number)
			}
		}
		if err := s.checkWire(); err != nil {
			t.Fatal(err)
		}
	}
	if s.wire.left[0] == 0 || s.wire.left[1] == 0 {
		t.Errorf("%d packets fly: want some of both kinds", s.wire.left)
	}
}

// A copy goes out later than its packet, and may be due sooner, as the resend delay has fallen meanwhile: the timer runs out for it all the
// same (seed 2012 of TestAnySequenceOfOperationsKeepsTheLaw).
func TestACopyMayBeDueSooner(t *testing.T) {
	s := newSolo(t, SendConfig{NoCongestion: true})
	s.Sample(400 * time.Millisecond)
	s.early.update(.16)
	s.send(50)
	s.poll()
	for range 50 {
		s.Sample(20 * time.Millisecond)
	}
	s.wait(100 * time.Millisecond)
	if s.stats.Copies == 0 {
		t.Fatal("no copy was sent")
	}
	if err := s.checkWire(); err != nil {
		t.Error(err)
	}
}

// BenchmarkExpiry is what it takes to send one value and to give one up while so many are in flight.
func BenchmarkExpiry(b *testing.B) {
	for _, flying := range []int{16, 256, 2048} {
		b.Run(fmt.Sprintf("flying=%d", flying), func(b *testing.B) {
			x := newLate(b, flying)
			b.ReportAllocs()
			for b.Loop() {
				x.step(b)
			}
		})
	}
}

// BenchmarkAcks is what it takes to send so many packets and to have them acknowledged, each on its own, the oldest first.
func BenchmarkAcks(b *testing.B) {
	for _, flying := range []int{4, 256, 2048} {
		b.Run(fmt.Sprintf("flying=%d", flying), func(b *testing.B) {
			s := NewSender(start, 0, &SendConfig{NoCongestion: true, NoEarly: true}, nil, newRand(1))
			now := start
			once := func() {
				now = now.Add(time.Microsecond)
				s.Send(now, aValue[:], Options{})
				s.Poll(now)
				if n := s.Next(); n > uint64(flying) {
					s.Ack(now, n-uint64(flying)-1)
				}
			}
			for range 3 * flying {
				once()
			}
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}
