package reliable

import (
	"testing"
	"time"
)

// A packet that many senders send is kept once, and goes back when the last of them has
// let go of it: by an acknowledgement, or at its end.
func TestASharedPacketIsKeptOnce(t *testing.T) {
	var b Pool
	senders := make([]Sender, 3)
	for i := range senders {
		senders[i] = NewSender(start, 0, &SendConfig{}, &b, newRand(1))
	}
	shared := b.Share([]byte("one for all"))
	for i := range senders {
		if err := senders[i].Send(start, nil, Options{Shared: shared, Tag: uint32(7 + i)}); err != nil {
			t.Fatal(err)
		}
		x, ok := senders[i].Poll(start)
		if !ok || string(x.Packet) != "one for all" || x.Tag != uint32(7+i) || x.Number != 0 {
			t.Fatalf("sender %d sends %+v, %v", i, x, ok)
		}
		if &x.Packet[0] != &shared.Bytes()[0] {
			t.Errorf("sender %d has a copy of its own", i)
		}
	}
	b.Release(shared)
	senders[0].Ack(start, 0)
	senders[1].Close()
	if shared.Bytes() == nil {
		t.Fatal("the bytes went back while a sender still had them")
	}
	senders[2].Ack(start, 0)
	if shared.Bytes() != nil {
		t.Error("the bytes did not go back with the last")
	}
	senders[2].Ack(start, 0)
	senders[0].Close()
	if b.KeepsTwice() {
		t.Error("the bytes went back twice")
	}
}

// TimerOnly: neither later acknowledgements nor repeated ones resend anything; the timer does.
func TestWithTimerOnlyNothingIsResentEarly(t *testing.T) {
	s := newSolo(t, SendConfig{TimerOnly: true, NoEarly: true, MinRTO: 120 * time.Millisecond, FirstRTO: 220 * time.Millisecond, NoCongestion: true})
	s.ack(s.send(10)) // never on the wire: a lie, which changes nothing
	s.poll()
	s.now = s.now.Add(10 * time.Millisecond)
	s.ack(0)        // the round trip is known
	for range 200 { // a loss of one in five, which would bring copies
		first := s.Next()
		for range 5 {
			s.send(10)
		}
		s.poll()
		s.now = s.now.Add(10 * time.Millisecond)
		for n := first + 1; n < first+5; n++ {
			s.ack(n)
			s.ack(n)
		}
		if got := s.poll(); len(got) > 0 {
			t.Fatalf("%v were resent %v after they were sent", got, 10*time.Millisecond)
		}
		if got := s.wait(109 * time.Millisecond); len(got) > 0 {
			t.Fatalf("%v were resent before their time", got)
		}
		if got := s.wait(20 * time.Millisecond); len(got) != 1 || got[0].number != first {
			t.Fatalf("%v were resent at their time, want %d", got, first)
		}
		s.ack(first)
	}
	if st := s.Stats(); st.FastResent+st.Copies != 0 || st.Resent != 200 {
		t.Errorf("stats: %+v", st)
	}
}

// Empty packets that wait count with their overhead.
func TestEmptyPacketsCountWithTheirOverhead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first uint64
		lane  uint8
	}{{"held", 1, 1}, {"ready", 0, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInbox(t, 0, ReceiveConfig{Rules: [lanes]Rule{Contiguous}, MaxHeld: 1000, MaxReady: 1000, Overhead: 100})
			taken := 0
			for n := range uint64(50) {
				if r.Receive(r.now, Packet{Number: tt.first + n, Reliable: true, Lane: tt.lane}) != Refused {
					taken++
				}
			}
			if taken != 10 {
				t.Errorf("%d empty packets were taken, want 10", taken)
			}
			for range 10 {
				r.Next(r.now)
			}
			r.Close()
			if r.ready.bytes != 0 || r.heldBytes() != 0 {
				t.Errorf("%d and %d bytes are left on the books", r.ready.bytes, r.heldBytes())
			}
		})
	}
}

// A round trip that is longer than the resend delay is learnt, from the start and when it grows,
// though every packet is resent before it is acknowledged.
func TestWithTimerOnlyALongRoundTripIsLearnt(t *testing.T) {
	cfg := SendConfig{TimerOnly: true, NoEarly: true, MinRTO: 120 * time.Millisecond, FirstRTO: 220 * time.Millisecond, NoCongestion: true}
	s := newSolo(t, cfg)
	round := func(rtt time.Duration) int {
		n := s.send(10)
		s.poll()
		again := len(s.wait(rtt))
		s.ack(n)
		return again
	}
	round(600 * time.Millisecond)
	if got := s.RTT(); got != 600*time.Millisecond {
		t.Errorf("after the first: %v", got)
	}
	for range 40 {
		round(50 * time.Millisecond)
	}
	if got := s.RTT(); got > 60*time.Millisecond {
		t.Fatalf("after many short ones: %v", got)
	}
	resent := 0
	for i := range 200 {
		if n := round(900 * time.Millisecond); i >= 100 {
			resent += n
		}
	}
	if got := s.RTT(); got < 800*time.Millisecond || resent > 0 {
		t.Errorf("after it grew: %v, and %d were still resent", got, resent)
	}
}
