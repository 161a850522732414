package reliable

import (
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
)

// datagram takes all that is offered now and fits into so many bytes, as one datagram.
func (s *solo) datagram(room int) (numbers []uint64) {
	s.Begin()
	for x, ok := s.Join(s.now, room); ok; x, ok = s.Join(s.now, room) {
		numbers = append(numbers, x.Number)
		room -= len(x.Packet)
	}
	return numbers
}

func (s *solo) wantDatagram(room int, want ...uint64) {
	s.t.Helper()
	if got := s.datagram(room); !slices.Equal(got, want) {
		s.t.Errorf("a datagram of %d bytes has %v, want %v", room, got, want)
	}
}

// "a packet is taken for lost when acks came for packets of three datagrams that left after its own"
func TestLossCountsDatagrams(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	s.Bundle()
	for range 2 {
		s.send(10)
	}
	s.wantDatagram(100, 0, 1)
	for range 6 {
		s.send(10)
	}
	s.wantDatagram(100, 2, 3, 4, 5, 6, 7)
	for range 3 {
		s.send(10)
		s.wantDatagram(100, s.Next()-1)
	}
	s.now = s.now.Add(50 * time.Millisecond)
	for _, n := range []uint64{7, 2, 3, 4, 5, 6} { // six packets, one datagram
		s.Ack(s.now, n)
		s.wantDatagram(100)
	}
	s.Ack(s.now, 8)
	s.wantDatagram(100)
	s.Ack(s.now, 9)
	s.wantDatagram(100, 0, 1)
	if got := s.Stats().FastResent; got != 2 {
		t.Errorf("%d were resent", got)
	}
	// The one that is left of the same datagrams is not overtaken by those, and not by what left with it.
	s.Ack(s.now, 0)
	s.Ack(s.now, 10)
	s.wantDatagram(100)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// What does not fit stays, in its order; what is small does not pass it.
func TestOnlyWhatFitsJoins(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Bundle()
	for _, n := range []int{100, 300, 700, 50, 900} {
		s.send(n)
	}
	s.wantDatagram(1000, 0, 1)
	s.wantDatagram(1000, 2, 3)
	s.wantDatagram(800)
	s.wantDatagram(900, 4)
	s.wantDatagram(1000)
}

// The headers of a datagram are counted once: with its first packet.
func TestJoinedPacketsCountTheirDatagramOnce(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Bundle()
	s.Budget(s.now)
	for range 5 {
		s.send(100)
	}
	s.wantDatagram(300, 0, 1, 2)
	s.End(320) // with an acknowledgement, and what holds them together
	if _, e := s.flights.find(0); s.told != 28+300+2*joinedBytes || e.whole != 320+28 {
		t.Errorf("%d bytes were told while packing, and the datagram has %d", s.told, e.whole)
	}
	s.wantDatagram(300, 3, 4)
	sum := 0
	for n := range uint64(5) {
		_, e := s.flights.find(n)
		sum += s.cost(e)
	}
	if want := 5*100 + 2*28 + 3*joinedBytes; sum != want {
		t.Errorf("two datagrams count as %d bytes, want %d", sum, want)
	}
}

// "Copies ahead of loss ride in later bundles of the same peer that leave anyway, or in one of their own when none leaves in
// time".
func TestCopiesRideOrLeaveInTime(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Sample(56 * time.Millisecond) // so the spacing is 4 ms
	s.Bundle()
	pass := func(ms int) { s.now = s.now.Add(time.Duration(ms) * time.Millisecond) }
	ride := func(want ...uint64) {
		t.Helper()
		var got []uint64
		s.Begin()
		for x, ok := s.Ride(s.now, 1000); ok; x, ok = s.Ride(s.now, 1000) {
			got = append(got, x.Number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %v ride %v, want %v", s.now.Sub(start), got, want)
		}
	}
	s.early.spend(s.at(s.now), 0, s.cfg)
	pass(1000)
	s.early.update(.14) // two copies each
	s.send(10)
	s.wantDatagram(1000, 0)
	ride() // a burst of loss would take both
	pass(1)
	ride(0)
	ride()
	pass(19)
	s.wantDatagram(1000) // the next has time
	pass(1)
	s.wantDatagram(1000, 0) // and leaves alone
	s.Ack(s.now, 0)
	s.early.update(.14)
	s.send(10)
	s.wantDatagram(1000, 1)
	pass(3)
	s.wantDatagram(1000)
	pass(1)
	s.wantDatagram(1000, 1) // nothing left in time
	s.Ack(s.now, 1)
	pass(10)
	ride()
	if got := s.Stats(); got.Copies != 3 || got.CopiesSaved != 1 {
		t.Errorf("%+v", got)
	}
}

// A copy waits longer for company where there usually is some, and no longer where there is none.
func TestCopiesWaitWhereThereIsCompany(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Bundle()
	// waits sends packets, each followed by another datagram after a time if that is not 0, and returns how long the copy of the last one waits.
	waits := func(packets int, company time.Duration) time.Duration {
		var d time.Duration
		for range packets {
			s.now = s.now.Add(100 * time.Millisecond)
			s.rtt.smoothed = 56 * time.Millisecond
			s.early.update(.05)
			n := s.send(10)
			s.wantDatagram(1000, n)
			_, e := s.flights.find(n)
			d = e.copyAt - e.first
			if company > 0 {
				s.now = s.now.Add(company)
				s.Begin()
				s.Ride(s.now, 1000)
			} else {
				s.now = s.now.Add(d)
				s.wantDatagram(1000, n)
				s.Ride(s.now, 1000) // of a datagram that leaves for the copy alone
			}
			s.Ack(s.now, n)
		}
		return d
	}
	for _, tt := range []struct {
		name    string
		company time.Duration
		want    time.Duration
	}{
		{"alone", 0, 4 * time.Millisecond},
		{"with company in time", 6 * time.Millisecond, 8 * time.Millisecond},
		{"with company too late", 9 * time.Millisecond, 4 * time.Millisecond},
		{"with company in time again", 5 * time.Millisecond, 8 * time.Millisecond},
		{"alone again", 0, 4 * time.Millisecond},
	} {
		if got := waits(10, tt.company); got != tt.want {
			t.Errorf("%s: the copy waits %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Acknowledgements that follow each other are one run, however they are taken.
func TestAckRuns(t *testing.T) {
	r := NewReceiver(start, 0, nil, nil)
	for _, n := range []uint64{0, 1, 2, 3, 5, 6, 9, 2, 12, 11} {
		r.Receive(start, Packet{Number: n, Reliable: true})
	}
	type run struct {
		first uint64
		n     int
	}
	var got []run
	for {
		first, n := r.AckRun(start, 3, false)
		if n == 0 {
			break
		}
		got = append(got, run{first, n})
	}
	if want := []run{{0, 3}, {3, 1}, {5, 2}, {9, 1}, {2, 1}, {11, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r.acks.count != 0 || r.Stats().AcksOut != 10 {
		t.Errorf("%d are owed, %d went out", r.acks.count, r.Stats().AcksOut)
	}
}

// A run acknowledges what its numbers would one by one: packets that wait, that fly, that are taken for lost, that were acknowledged before, and
// numbers that were never sent or were never reliable.
func TestARunAcknowledgesEachOfItsNumbers(t *testing.T) {
	kit.Seeds(t, tier(20, 200, 2000), func(t *testing.T, seed uint64) {
		r := newRand(seed)
		const trip = 50 * time.Millisecond
		c := SendConfig{NoEarly: true, NoCongestion: true}
		a, b := newSolo(t, c), newSolo(t, c)
		both := func(do func(s *solo)) { do(a); do(b) }
		both(func(s *solo) { s.Bundle(); s.Sample(trip) })
		var tagsA, tagsB []uint32
		for range 200 {
			n, size, lane, gap := 1+r.IntN(20), 10+r.IntN(300), uint8(r.IntN(2)), r.IntN(4) == 0
			tagged, unsent := r.IntN(3) == 0, r.IntN(3) == 0
			first, count := uint64(r.Int64N(int64(a.Next()+4))), 1+r.IntN(40)
			if r.IntN(2) == 0 {
				first = a.Oldest()
			}
			both(func(s *solo) {
				for i := range n {
					o := Options{Lane: lane}
					if tagged && i%3 == 0 {
						o.Tag = uint32(s.Next()) + 1
					}
					_ = s.Send(s.now, make([]byte, size), o) // the window may be full
				}
				if gap {
					_, _ = s.Take(s.now, size)
				}
				for !unsent && len(s.datagram(1200)) > 0 {
				}
				s.now = s.now.Add(trip)
			})
			for i := range count {
				if fate, tag := a.Ack(a.now, first+uint64(i)); fate == AckNew && tag > 0 {
					tagsA = append(tagsA, tag)
				}
			}
			for at, left := first, count; left > 0; {
				n, tag, _ := b.AckRun(b.now, at, left)
				if at, left = at+uint64(n), left-n; tag > 0 {
					tagsB = append(tagsB, tag)
				}
			}
			for i, s := range []*solo{a, b} {
				if err := s.Check(); err != nil {
					t.Fatalf("sender %d: %v", i, err)
				}
			}
			x, y := a.Stats(), b.Stats()
			if x.AcksIn != y.AcksIn || x.AcksNew != y.AcksNew || x.AcksRepeat != y.AcksRepeat || x.AcksUnsent != y.AcksUnsent {
				t.Fatalf("acks of %d from %d on counted one by one as %+v, as a run as %+v", count, first, x, y)
			}
			if a.Oldest() != b.Oldest() || a.unacked != b.unacked || a.newestAcked != b.newestAcked || a.lanes != b.lanes || a.bytes != b.bytes {
				t.Fatalf("acks of %d from %d on led to %d, %d, %d and %d, %d, %d", count, first, a.Oldest(), a.unacked, a.newestAcked, b.Oldest(), b.unacked, b.newestAcked)
			}
			if !slices.Equal(tagsA, tagsB) {
				t.Fatalf("tags %v and %v", tagsA, tagsB)
			}
		}
	})
}

// The packets of a datagram are one sample of the round trip.
func TestADatagramIsOneSample(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Bundle()
	s.Sample(100 * time.Millisecond)
	for range 8 {
		s.send(10)
	}
	s.wantDatagram(40, 0, 1, 2, 3)
	s.wantDatagram(40, 4, 5, 6, 7)
	s.now = s.now.Add(20 * time.Millisecond)
	before := s.pool.RoundTrips.Count()
	s.AckRun(s.now, 0, 8)
	if got := s.pool.RoundTrips.Count() - before; got != 2 || s.unacked != 0 {
		t.Errorf("%d samples of two datagrams, and %d packets are unacknowledged", got, s.unacked)
	}
}
