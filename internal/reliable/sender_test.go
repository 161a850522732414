package reliable

import (
	"errors"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// solo is a sender alone, with the test in the place of the peer.
type solo struct {
	t   *testing.T
	now time.Time
	Sender
}

func newSolo(t *testing.T, cfg SendConfig) *solo {
	return &solo{t: t, now: start, Sender: NewSender(start, 0, &cfg, nil, newRand(1))}
}

// send sends a packet of n bytes that must be taken.
func (s *solo) send(n int) uint64 {
	s.t.Helper()
	number := s.Next()
	if err := s.Send(s.now, make([]byte, n), Options{}); err != nil {
		s.t.Fatalf("send: %v", err)
	}
	return number
}

// poll returns the numbers that go out now.
func (s *solo) poll() (numbers []uint64) {
	for range 10000 {
		x, ok := s.Poll(s.now)
		if !ok {
			return numbers
		}
		numbers = append(numbers, x.Number)
	}
	s.t.Fatal("Poll does not end")
	return nil
}

// wait lets time pass with all timeouts at their times, and returns what went
// out and when.
func (s *solo) wait(d time.Duration) (sent []sentAt) {
	end := s.now.Add(d)
	for range 1_000_000 {
		at, ok := s.NextTimeout()
		if !ok || at.After(end) {
			s.now = end
			return sent
		}
		if at.After(s.now) {
			s.now = at
		}
		s.HandleTimeout(s.now)
		for _, n := range s.poll() {
			sent = append(sent, sentAt{n, s.now.Sub(start)})
		}
	}
	s.t.Fatal("timeouts do not end")
	return nil
}

type sentAt struct {
	number uint64
	at     time.Duration
}

func (s *solo) ack(n uint64) AckFate {
	fate, _ := s.Ack(s.now, n)
	return fate
}

func (s *solo) wantSent(got []uint64, want ...uint64) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("sent %v, want %v", got, want)
	}
}

func TestAnUnacknowledgedPacketIsResentByTheTimer(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Sample(50 * time.Millisecond) // variance 25 ms: resend after 150 ms
	s.send(100)
	s.wantSent(s.poll(), 0)
	if sent := s.wait(149 * time.Millisecond); len(sent) > 0 {
		t.Errorf("resent too early: %v", sent)
	}
	if sent := s.wait(time.Millisecond); len(sent) != 1 {
		t.Errorf("not resent in time: %v", sent)
	}
	if got := s.ack(0); got != AckNew {
		t.Errorf("the acknowledgement is %v", got)
	}
	if _, ok := s.NextTimeout(); ok {
		t.Error("a timer is left with nothing in flight")
	}
}

// "at once when acks for three later packets came first, once a packet a round
// trip, which does not count" (replica, Acks and resends).
func TestThreeLaterAcknowledgementsResendAtOnce(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	for range 8 {
		s.send(100)
	}
	s.wantSent(s.poll(), 0, 1, 2, 3, 4, 5, 6, 7)
	s.now = s.now.Add(50 * time.Millisecond)
	s.ack(2)
	s.ack(3)
	s.wantSent(s.poll())
	s.ack(3) // a repeat is no later packet
	s.wantSent(s.poll())
	s.ack(4)
	s.wantSent(s.poll(), 0, 1)
	s.ack(5)
	s.ack(6)
	s.ack(7)
	s.wantSent(s.poll())
	for i := range s.flights.count {
		if e := s.flights.at(s.flights.head + i); e.resends != 0 {
			t.Errorf("number %d: %d tries counted, want none", e.number, e.resends)
		}
	}
	// Only what was sent after the resend can show that it too was lost.
	for range 4 {
		s.send(100)
	}
	s.wantSent(s.poll(), 8, 9, 10, 11)
	s.now = s.now.Add(51 * time.Millisecond)
	s.ack(8)
	s.ack(9)
	s.wantSent(s.poll())
	s.ack(10)
	s.wantSent(s.poll(), 0, 1)
}

// "once a packet a round trip" (replica, Acks and resends).
func TestAPacketIsResentFastOnceARoundTrip(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	for range 4 {
		s.send(100)
	}
	s.poll()
	s.now = s.now.Add(50 * time.Millisecond)
	for n := range uint64(3) {
		s.ack(n + 1)
	}
	s.wantSent(s.poll(), 0)
	resent := s.now
	for range 3 {
		s.send(100)
	}
	s.poll()
	s.now = s.now.Add(10 * time.Millisecond)
	for n := range uint64(3) {
		s.ack(n + 4)
	}
	s.wantSent(s.poll())
	sent := s.wait(90 * time.Millisecond)
	if want := resent.Sub(start) + s.RTT(); len(sent) == 0 || sent[0].at != want {
		t.Errorf("resent at %v, want once more at %v", sent, want)
	}
}

// Packets that overtake each other are not lost: the sender learns to wait.
func TestOvertakingIsLearnt(t *testing.T) {
	n := simnet.New(1)
	n.Default(simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 15 * time.Millisecond})
	src := newPeer(n.Now(), peerConfig{seed: 1}, addrB)
	dst := newPeer(n.Now(), peerConfig{seed: 2}, addrA)
	host := n.Add(addrA, src)
	n.Add(addrB, dst).AfterTurn(dst.drain)
	const count = 5000
	for i := range count {
		n.After(time.Duration(i)*2*time.Millisecond, "send", func() {
			if err := src.send(n.Now(), 300, true, false, uint32(i)); err != nil {
				t.Error(err)
			}
			host.Poke()
		})
	}
	if err := n.Run(15 * time.Second); err != nil {
		t.Fatal(err)
	}
	st := src.sender.Stats()
	t.Logf("%d of %d packets were resent although none was lost, %d by timer", st.FastResent, count, st.Resent)
	if st.FastResent > count/20 {
		t.Errorf("%d of %d packets were resent although none was lost", st.FastResent, count)
	}
	if len(dst.got) != count {
		t.Errorf("%d of %d arrived", len(dst.got), count)
	}
}

// T12, T13: acknowledgements of what was never on the wire change nothing.
func TestLyingAcknowledgementsChangeNothing(t *testing.T) {
	s := newSolo(t, SendConfig{NoCongestion: true})
	for range 100 {
		s.send(100)
	}
	s.poll()
	s.cfg = SendConfig{}.Filled() // from here on what is sent stays queued
	s.cong.window = 0
	for range 50 {
		s.send(1000)
	}
	rng := newRand(2)
	before, kept := s.Sender.Stats(), s.Pressure()
	for i := range promise.Keeps(t, "T12 T13", "engine", 100_000) {
		n := s.Next() + rng.Uint64N(1<<uint(rng.IntN(63)))
		if i%2 == 0 {
			n = 100 + rng.Uint64N(50) // accepted, and not yet sent
		}
		if got := s.ack(n); got != AckUnsent {
			t.Fatalf("acknowledging %d of %d is %v", n, s.Next(), got)
		}
	}
	after := s.Sender.Stats()
	if after.AcksUnsent-before.AcksUnsent != 100_000 {
		t.Errorf("%d lies counted", after.AcksUnsent)
	}
	after.AcksIn, after.AcksUnsent = before.AcksIn, before.AcksUnsent
	if after != before || s.Pressure() != kept || s.RTT() != 0 {
		t.Errorf("the lies changed something:\n%+v\n%+v", before, after)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// T14: in a blackout with a full window, resends are few and spread out, and
// giving up comes when it is promised.
func TestABlackoutIsBornePatiently(t *testing.T) {
	kit.Seeds(t, promise.Keeps(t, "T14", "engine", tier(3, 20, 200)), func(t *testing.T, seed uint64) {
		s := newSolo(t, SendConfig{})
		s.rand = newRand(seed)
		s.Sample(50 * time.Millisecond)
		window := 0
		for s.Ready(1200) == nil {
			s.send(1200)
			window += 1200
		}
		s.poll()
		byNumber := map[uint64][]time.Duration{}
		for s.Failed() == 0 && s.now.Sub(start) < 30*time.Second {
			for _, x := range s.wait(time.Millisecond) {
				byNumber[x.number] = append(byNumber[x.number], x.at)
			}
		}
		if s.Failed() != ReasonUnacknowledged {
			t.Fatalf("seed=%d: after 30 s: %v", seed, s.Failed())
		}
		// 150 ms, doubling to 2 s, ten resends and one wait more, jitter up to an eighth.
		giveUp := s.now.Sub(start)
		var least time.Duration
		for i := range 11 {
			least += min(150*time.Millisecond<<i, 2*time.Second)
		}
		if len(byNumber[0]) != 10 || giveUp < least || giveUp > least+least/8+time.Millisecond {
			t.Errorf("seed=%d: the oldest was resent %d times and given up after %v, want 10 times and %v to an eighth more", seed, len(byNumber[0]), giveUp, least)
		}
		prev, gap := time.Duration(0), 150*time.Millisecond
		for i, at := range byNumber[0] {
			if d := at - prev; d < gap || d > gap+gap/8+time.Millisecond {
				t.Errorf("seed=%d: resend %d came after %v, want %v and up to an eighth", seed, i, d, gap)
			}
			prev, gap = at, min(2*gap, 2*time.Second)
		}
		st := s.Sender.Stats()
		if again := int(st.Transmitted-st.First) * 1200; again > 10*window {
			t.Errorf("seed=%d: resent %d bytes with a window of %d", seed, again, window)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if _, ok := s.NextTimeout(); ok || s.flights.slots != nil {
			t.Error("after giving up something is left")
		}
		if err := s.Send(s.now, nil, Options{}); !errors.Is(err, ErrClosed) {
			t.Errorf("sending after giving up: %v", err)
		}
	})
}

// The oldest packet is resent whatever the window says: its tries tell whether
// the peer lives.
func TestTheOldestIsResentThroughAShutWindow(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	for range 3 {
		s.send(1200)
	}
	s.poll()
	s.cong.window = 0
	s.pacer.credit = -paceBurst
	s.now = s.now.Add(150 * time.Millisecond)
	s.HandleTimeout(s.now)
	s.wantSent(s.poll(), 0)
}

// T14: a flood of old acknowledgements makes at most one resend a packet and
// round trip.
func TestAcknowledgementFloodsResendLittle(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true, GiveUpAfter: time.Hour})
	s.Sample(100 * time.Millisecond)
	for range 50 {
		s.send(100)
	}
	s.poll()
	for n := uint64(10); n < 40; n++ {
		s.ack(n)
	}
	sent := 0
	for range promise.Keeps(t, "T14", "engine", 100_000) { // ten seconds at ten thousand a second
		s.now = s.now.Add(100 * time.Microsecond)
		s.ack(10 + s.stats.AcksIn%30)
		s.HandleTimeout(s.now)
		sent += len(s.poll())
	}
	if most := 20 * 10 * 1000 / 50; sent > most {
		t.Errorf("%d resends of 20 packets in 10 s, want at most %d", sent, most)
	}
}

// T15: absurd round trips do not move the estimate out of its bounds.
func TestAbsurdRoundTripsAreBounded(t *testing.T) {
	kit.Seeds(t, promise.Keeps(t, "T15", "engine", tier(1, 5, 50)), func(t *testing.T, seed uint64) {
		rng := newRand(seed)
		s := newSolo(t, SendConfig{GiveUpAfter: 1000 * time.Hour, NoEarly: true})
		for i := range 100_000 {
			s.Sample(time.Duration(rng.Uint64() >> rng.UintN(64)))
			s.Sample(0)
			s.Sample(-time.Duration(rng.Int64()))
			if rtt := s.RTT(); rtt != 0 && (rtt < time.Millisecond || rtt > 10*time.Second) {
				t.Fatalf("seed=%d: after %d samples the round trip is %v", seed, i, rtt)
			}
			if rto := s.rtt.rto(s.cfg); rto < 20*time.Millisecond || rto > 2*time.Second {
				t.Fatalf("seed=%d: the resend delay is %v", seed, rto)
			}
		}
	})
}

// Karn's rule: the acknowledgement of a resent packet is no sample.
func TestAResentPacketIsNoSample(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	s.send(100)
	s.poll()
	s.wait(150 * time.Millisecond) // resent at 150 ms
	s.now = s.now.Add(60 * time.Millisecond)
	s.ack(0)
	if s.RTT() != 50*time.Millisecond {
		t.Errorf("the round trip is %v, want it untouched", s.RTT())
	}
}

// An acknowledgement that comes sooner after a resend than anything can travel
// is the original's: a sample after all.
func TestALateOriginalIsASample(t *testing.T) {
	s := newSolo(t, SendConfig{NoEarly: true})
	s.Sample(50 * time.Millisecond)
	s.send(100)
	s.poll()
	s.wait(150 * time.Millisecond)
	s.now = s.now.Add(10 * time.Millisecond)
	s.ack(0)
	if s.RTT() <= 50*time.Millisecond {
		t.Errorf("the round trip is %v, want it to grow towards 160 ms", s.RTT())
	}
}

func TestTheSpanIsBounded(t *testing.T) {
	s := newSolo(t, SendConfig{Span: 100})
	for range 100 {
		s.send(10)
	}
	if err := s.Send(s.now, nil, Options{}); !errors.Is(err, ErrWindowFull) {
		t.Errorf("the 101st: %v, want a full window", err)
	}
	if _, err := s.Take(s.now, 10); !errors.Is(err, ErrWindowFull) {
		t.Errorf("an unreliable one: %v, want a full window", err)
	}
	s.cong.window = 1 << 20
	s.poll()
	for n := uint64(1); n < 100; n++ {
		s.ack(n)
	}
	if err := s.Ready(10); !errors.Is(err, ErrWindowFull) {
		t.Errorf("with the oldest unacknowledged: %v, want a full window", err)
	}
	s.ack(0)
	s.send(10)
	if err := s.Ready(maxPacketBytes + 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a packet larger than any datagram: %v", err)
	}
}

// "the sender never uses a number more than 4,096 beyond the newest one that was
// acknowledged ... when the window is used up the newest reliable packet is
// resent until an ack comes" (replica, Sequences).
func TestTheNewestPacketProbesAUsedUpWindow(t *testing.T) {
	s := newSolo(t, SendConfig{Span: 64})
	s.Sample(50 * time.Millisecond)
	number := s.Next()
	if err := s.Send(s.now, make([]byte, 100), Options{Report: true, Tag: 7}); err != nil {
		t.Fatal(err)
	}
	s.poll()
	s.wait(time.Second)
	if l, ok := s.PollLost(); !ok || l != (Loss{number, 7}) {
		t.Fatalf("reported %v, %v", l, ok)
	}
	if _, ok := s.PollLost(); ok {
		t.Fatal("reported twice")
	}
	taken := 0
	for {
		if _, err := s.Take(s.now, 10); err != nil {
			break
		}
		taken++
	}
	if taken != 63 {
		t.Errorf("%d numbers were taken after the reliable one, want 63", taken)
	}
	sent := s.wait(time.Second)
	if len(sent) == 0 {
		t.Fatal("no probe was sent")
	}
	for _, x := range sent {
		if x.number != number {
			t.Errorf("the probe is number %d", x.number)
		}
	}
	s.ack(number)
	if _, err := s.Take(s.now, 10); err != nil {
		t.Errorf("after the acknowledgement: %v", err)
	}
	if sent := s.wait(10 * time.Second); len(sent) > 0 {
		t.Errorf("after the acknowledgement: %v", sent)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestAReportedPacketIsNotResent(t *testing.T) {
	s := newSolo(t, SendConfig{})
	s.Sample(50 * time.Millisecond)
	for i := range 6 {
		if err := s.Send(s.now, make([]byte, 100), Options{Report: true, Tag: uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.poll()
	s.now = s.now.Add(50 * time.Millisecond)
	for _, n := range []uint64{2, 3, 4} {
		if fate, tag := s.Ack(s.now, n); fate != AckNew || tag != uint32(n) {
			t.Errorf("ack %d: %v, tag %d", n, fate, tag)
		}
	}
	for want := range uint64(2) {
		if l, ok := s.PollLost(); !ok || l.Number != want {
			t.Errorf("reported %v, %v, want number %d", l, ok, want)
		}
	}
	if sent := s.poll(); len(sent) > 0 {
		t.Errorf("resent %v", sent)
	}
	if got := s.ack(0); got != AckRepeat {
		t.Errorf("its late acknowledgement is %v", got)
	}
}

func TestLinksNameThePreviousPacketOfTheLane(t *testing.T) {
	s := newSolo(t, SendConfig{})
	order := func(want uint64) uint64 {
		t.Helper()
		if got := s.Link(1); got != want {
			t.Errorf("number %d links %d back, want %d", s.Next(), got, want)
		}
		n := s.Next()
		if err := s.Send(s.now, make([]byte, 10), Options{Lane: 1}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := order(0)
	s.Take(s.now, 10)
	second := order(2)
	s.poll()
	s.ack(second)
	order(1) // the first is still unacknowledged
	s.ack(first)
	s.poll()
	s.ack(3)
	order(0)
	if got := s.Link(2); got != 0 {
		t.Errorf("the other lane links %d back", got)
	}
}

func TestCopiesStayWithinTheirShare(t *testing.T) {
	s := newSolo(t, SendConfig{NoCongestion: true, GiveUpAfter: time.Hour})
	s.Sample(50 * time.Millisecond)
	s.early.update(.16)
	bytes := uint64(0)
	for range 10_000 { // ten seconds of 200 KB/s
		n := s.send(200)
		for _, x := range s.poll() {
			if x != n {
				bytes += 200
			}
		}
		s.now = s.now.Add(time.Millisecond)
		s.HandleTimeout(s.now)
		if n >= 50 {
			s.ack(n - 50)
		}
		s.early.update(.16)
	}
	if share := float64(s.stats.Copies*200) / 2_000_000; share > .31 || share < .25 {
		t.Errorf("copies took %.2f of what was sent, want about 0.30", share)
	}
	if s.stats.CopiesDenied == 0 {
		t.Error("no copy was denied")
	}
}

// A round trip that jumps to many times the resend delay is learnt although every packet
// is resent before its acknowledgement can come, and then nothing is resent any more.
func TestARoundTripThatJumpsIsLearnt(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  SendConfig
	}{
		{"with all means", SendConfig{}},
		{"by timer only", SendConfig{TimerOnly: true, NoCongestion: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSolo(t, tt.cfg)
			type ack struct {
				number uint64
				at     time.Time
			}
			var acks []ack
			sent := map[uint64]bool{}
			again := 0
			run := func(d, rtt time.Duration) {
				again = 0
				for end := s.now.Add(d); s.now.Before(end); {
					s.send(64)
					note := func(n uint64) {
						if sent[n] {
							again++
						}
						sent[n] = true
						acks = append(acks, ack{n, s.now.Add(rtt)})
					}
					for _, n := range s.poll() {
						note(n)
					}
					for next := s.now.Add(16 * time.Millisecond); s.now.Before(next); {
						for _, x := range s.wait(time.Millisecond) {
							note(x.number)
						}
						for len(acks) > 0 && !acks[0].at.After(s.now) {
							s.Ack(s.now, acks[0].number)
							acks = acks[1:]
						}
					}
				}
			}
			run(5*time.Second, 50*time.Millisecond)
			run(15*time.Second, 600*time.Millisecond)
			if got := s.RTT(); got < 550*time.Millisecond || got > 700*time.Millisecond {
				t.Errorf("the round trip is 600 ms, known as %v", got)
			}
			run(5*time.Second, 600*time.Millisecond)
			if again > 20 {
				t.Errorf("%d resends in 5 s of a path that loses nothing", again)
			}
		})
	}
}

// A round trip that grows past the resend delay has every packet resent, and by Karn's rule
// none would be a sample. The second acknowledgement of one tells that its first was of its first
// transmission.
func TestTheSecondAcknowledgementTellsTheRoundTrip(t *testing.T) {
	const was, is, every = time.Millisecond, 45 * time.Millisecond, 50 * time.Millisecond
	s := newSolo(t, SendConfig{NoEarly: true})
	resent := func(rtt time.Duration, packets int) (n int) {
		for range packets {
			begin, number := s.now, s.send(50)
			sent := []time.Time{s.now}
			for s.poll(); len(sent) > 0; sent = sent[1:] {
				for _, x := range s.wait(sent[0].Add(rtt).Sub(s.now)) {
					n++
					sent = append(sent, start.Add(x.at))
				}
				s.ack(number)
			}
			s.wait(max(begin.Add(every).Sub(s.now), 0))
		}
		return n
	}
	if n := resent(was, 50); n != 0 {
		t.Fatalf("%d resends on a path that loses nothing", n)
	}
	if n := resent(is, 50); n == 0 || n > 3 {
		t.Errorf("%d of 50 packets were resent until the round trip was learnt, want 1 to 3", n)
	}
	// A second acknowledgement of a packet that was sent once says nothing.
	before := s.RTT()
	number := s.send(50)
	s.poll()
	s.wait(is)
	s.ack(number)
	known := s.RTT()
	s.wait(100 * is)
	if s.ack(number); s.RTT() != known || before == 0 {
		t.Errorf("a repeat moved the round trip from %v to %v", known, s.RTT())
	}
}
