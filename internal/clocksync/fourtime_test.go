package clocksync

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"parley/internal/promise"
)

// ms is a local time of the table tests.
func ms(n float64) time.Time { return origin.Add(time.Duration(n * float64(time.Millisecond))) }

func TestFourTimeTakesTheLeastRoundTrip(t *testing.T) {
	const base = 1 << 61
	var c FourTime
	if c.Synced() || c.Remote(ms(0)) != 0 || !c.Local(5).IsZero() || c.RTT() != 0 || c.SmoothedRTT() != 0 ||
		c.ErrorBound(ms(0)) != math.MaxInt64 {
		t.Error("the zero clock pretends to know something")
	}
	// Remote time is base + local time. 20 ms out, 10 ms held, 40 ms back.
	if !c.Add(Exchange{Sent: ms(0), PeerReceived: base + 20_000, PeerSent: base + 30_000, Received: ms(70)}) {
		t.Fatal("a good exchange was refused")
	}
	if got, want := c.Remote(ms(70)), uint64(base+60_000); got != want {
		t.Errorf("after a lopsided exchange: got %d, want %d", got-base, want-base)
	}
	if got, want := c.RTT(), 60*time.Millisecond; got != want {
		t.Errorf("RTT: got %v, want %v", got, want)
	}
	// A better one: 5 ms each way. It is slewed in at 5%: 10 ms take 200 ms.
	c.Add(Exchange{Sent: ms(90), PeerReceived: base + 95_000, PeerSent: base + 95_000, Received: ms(100)})
	for _, tt := range []struct {
		at   float64
		want uint64
	}{{100, 90_000}, {200, 195_000}, {300, 300_000}, {400, 400_000}} {
		if got := c.Remote(ms(tt.at)) - base; got != tt.want {
			t.Errorf("slewing, at %v ms: got %d, want %d", tt.at, got, tt.want)
		}
	}
	// Worse ones do not move it until eight of them have pushed the good one out.
	for i := range 7 {
		at := 500 + 100*float64(i)
		c.Add(Exchange{Sent: ms(at), PeerReceived: base + uint64(at*1000) + 40_000, PeerSent: base + uint64(at*1000) + 40_000, Received: ms(at + 50)})
		if c.RTT() != 10*time.Millisecond || c.Remote(ms(at+99)) != base+uint64(at*1000)+99_000 {
			t.Errorf("exchange %d with a longer round trip was believed", i)
		}
	}
	c.Add(Exchange{Sent: ms(2000), PeerReceived: base + 2_040_000, PeerSent: base + 2_040_000, Received: ms(2050)})
	if got := c.RTT(); got != 50*time.Millisecond {
		t.Errorf("RTT after eight longer ones: got %v, want 50ms", got)
	}
	if got, want := c.Remote(ms(5000)), uint64(base+5_015_000); got != want {
		t.Errorf("the newest of equal round trips: got %d, want %d", got-base, want-base)
	}
}

func TestFourTimeRefusesWhatCannotBe(t *testing.T) {
	const base = 1 << 40
	for _, tt := range []struct {
		name string
		x    Exchange
		fate func(FourTimeStats) uint64
	}{
		{"an answer before its question", Exchange{ms(200), base + 200_000, base + 200_000, ms(199)}, func(s FourTimeStats) uint64 { return s.Backwards }},
		{"an answer a nanosecond before its question", Exchange{ms(200).Add(1), base + 200_000, base + 200_000, ms(200)}, func(s FourTimeStats) uint64 { return s.Backwards }},
		{"sent by the peer before it was received", Exchange{ms(200), base + 201_000, base + 200_000, ms(210)}, func(s FourTimeStats) uint64 { return s.Backwards }},
		{"held for longer than all of it took", Exchange{ms(200), base + 200_000, base + 240_000, ms(230)}, func(s FourTimeStats) uint64 { return s.Backwards }},
		{"held for half of all time", Exchange{ms(200), base, base + 1<<63 - 1, ms(230)}, func(s FourTimeStats) uint64 { return s.TooLong }},
		{"a round trip over 10 s", Exchange{ms(200), base, base, ms(10_201)}, func(s FourTimeStats) uint64 { return s.TooLong }},
		{"a peer that held it for over 10 s", Exchange{ms(200), base, base + 10_000_001, ms(10_300)}, func(s FourTimeStats) uint64 { return s.TooLong }},
		{"a clock that is centuries away", Exchange{ms(200), base + 1<<62, base + 1<<62, ms(230)}, func(s FourTimeStats) uint64 { return s.Far }},
		{"a clock that is three years away", Exchange{ms(200), base + 94_000_000_000_000, base + 94_000_000_000_000, ms(230)}, func(s FourTimeStats) uint64 { return s.Far }},
		{"the same question again", Exchange{ms(100), base + 101_000, base + 101_000, ms(230)}, func(s FourTimeStats) uint64 { return s.Repeated }},
		{"an older question", Exchange{ms(99), base + 101_000, base + 101_000, ms(230)}, func(s FourTimeStats) uint64 { return s.Repeated }},
	} {
		var c FourTime
		c.Add(Exchange{ms(100), base + 110_000, base + 110_000, ms(120)})
		before := c
		if c.Add(tt.x) {
			t.Errorf("%s: kept", tt.name)
		}
		if tt.fate(c.Stats()) != 1 || c.Stats().Kept != 1 {
			t.Errorf("%s: counted as %+v", tt.name, c.Stats())
		}
		before.stats = c.stats
		if c != before {
			t.Errorf("%s: changed the clock", tt.name)
		}
	}
	var c FourTime
	if c.Add(Exchange{ms(200), 0, 0, ms(100)}) || c.Synced() {
		t.Error("a bad first exchange set the clock")
	}
}

func TestFourTimeTakesTheNewestAmongEquals(t *testing.T) {
	var c FourTime
	for i := range 12 {
		at := float64(i * 1000)
		c.Add(Exchange{ms(at), uint64(at*1000) + uint64(i), uint64(at*1000) + uint64(i), ms(at + 20)})
		if got, want := c.best().sent, c.lastSent; got != want {
			t.Errorf("exchange %d: in force is the one sent at %d, want %d", i, got, want)
		}
	}
}

// An exchange that is handed in after readings of later times changes none of them.
func TestFourTimeTakesAnExchangeThatComesLate(t *testing.T) {
	var c FourTime
	c.Add(Exchange{ms(0), 0, 0, ms(100)})
	c.Add(Exchange{ms(200), 800_000, 800_000, ms(220)})
	before := c.Remote(ms(220))
	c.Add(Exchange{ms(205), 205_000, 205_000, ms(210)})
	if got := c.Remote(ms(220)); got != before {
		t.Errorf("read %d, then %d", before, got)
	}
}

func TestReadingsBeforeTheFirstSampleAreInOrder(t *testing.T) {
	var c FourTime
	c.Add(Exchange{ms(0), 1 << 60, 1 << 60, ms(0)})
	last := c.Remote(origin.Add(-3 * time.Microsecond))
	for ns := -3000; ns <= 3000; ns += 100 {
		got := c.Remote(origin.Add(time.Duration(ns)))
		if want := 1<<60 - 3 + uint64(ns+3000)/1000; got != want || got < last {
			t.Errorf("%d ns after the first sample: got %d, want %d", ns, got, want)
		}
		last = got
	}
}

// A hold that is measured by a clock 5% fast looks longer than it was.
func TestFourTimeAllowsForAFastPeer(t *testing.T) {
	var c FourTime
	if !c.Add(Exchange{ms(0), 0, 104_000, ms(100)}) || c.RTT() != 0 {
		t.Errorf("got RTT %v, stats %+v", c.RTT(), c.Stats())
	}
}

func TestFourTimeStaysWithinItsErrorBound(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 10
	}
	forEachSeed(t, n, func(t *testing.T, rng *rand.Rand) {
		const length = 5 * time.Minute
		s, c := newSim(rng, length), &FourTime{}
		w := &watch{t: t, s: s, c: c}
		var arrivals []arrival
		for sent := int64(0); sent < int64(length); sent += int64(time.Second) {
			if rng.Float64() < s.loss {
				continue
			}
			received := sent + s.delay(s.out)
			answered := received + rng.Int64N(int64(5*time.Millisecond))
			back := answered + s.delay(s.in)
			x := Exchange{s.localAt(sent), s.remoteAt(received), s.remoteAt(answered), s.localAt(back)}
			arrivals = append(arrivals, arrival{back, func() { c.Add(x) }})
			if rng.IntN(4) == 0 { // a duplicate, later
				again := back + rng.Int64N(int64(3*time.Second))
				late := x
				late.Received = s.localAt(again)
				arrivals = append(arrivals, arrival{again, func() { c.Add(late) }})
			}
		}
		s.run(arrivals, w.read)
	})
}

func TestFourTimeConverges(t *testing.T) {
	forEachSeed(t, 20, func(t *testing.T, rng *rand.Rand) {
		const length = 2 * time.Minute
		s, c := newSim(rng, length), &FourTime{}
		s.out, s.in, s.jitter, s.loss = 25*time.Millisecond, 25*time.Millisecond, 5*time.Millisecond, 0.1
		w := &watch{t: t, s: s, c: c}
		var arrivals []arrival
		for sent := int64(0); sent < int64(length); sent += int64(time.Second) {
			out, in := s.delay(s.out), s.delay(s.in)
			if sent == 0 {
				in += int64(900 * time.Millisecond) // the first answer is held up: 450 ms wrong
			}
			x := Exchange{s.localAt(sent), s.remoteAt(sent + out), s.remoteAt(sent + out), s.localAt(sent + out + in)}
			arrivals = append(arrivals, arrival{sent + out + in, func() { c.Add(x) }})
		}
		s.run(arrivals, func(at int64) {
			if time.Duration(at) < 15*time.Second {
				w.worst = 0 // 450 ms at 5% take 9 s
			}
			w.read(at)
		})
		// Drift over eight exchanges is 8 ms at most; jitter adds a few.
		if w.worst > 15*time.Millisecond {
			t.Errorf("still off by %v", w.worst)
		}
	})
}

// T15: future, zero, negative, ambiguous and replayed samples, 10^5 of them, between honest ones.
func TestFourTimeWithstandsPoison(t *testing.T) {
	forEachSeed(t, 3, func(t *testing.T, rng *rand.Rand) {
		var c FourTime
		base := rng.Uint64()
		now := int64(0)
		at := func(ns int64) time.Time { return origin.Add(time.Duration(ns)) }
		remote := func(ns int64) uint64 { return base + uint64(floorDiv(ns, 1000)) }
		c.Add(Exchange{at(0), remote(10e6), remote(10e6), at(20e6)})
		now = 20e6
		last, lastAt := c.Remote(at(now)), now
		var replay Exchange
		for i := range promise.Keeps(t, "T15", "clocksync", 100_000) {
			now += rng.Int64N(2e6)
			x := Exchange{Sent: at(now - rng.Int64N(100e6)), Received: at(now), PeerReceived: remote(now), PeerSent: remote(now)}
			switch rng.IntN(9) {
			case 0: // future
				x.Sent = at(now + rng.Int64N(1e12))
			case 1: // no time at all
				x.Sent = at(now)
			case 2: // negative hold
				x.PeerSent = x.PeerReceived - rng.Uint64N(1e9)
			case 3: // hold that explains all of the round trip, at any offset
				x.PeerReceived = remote(now + rng.Int64N(2e12) - 1e12)
				x.PeerSent = x.PeerReceived + uint64(x.Received.Sub(x.Sent).Microseconds())
			case 4: // ambiguous: the answer to a question that was asked long before
				x.Sent = at(now - rng.Int64N(30e9))
			case 5: // noise
				x.PeerReceived, x.PeerSent = rng.Uint64(), rng.Uint64()
			case 6: // far
				x.PeerReceived += 1 << (20 + rng.UintN(44))
				x.PeerSent = x.PeerReceived
			case 7:
				x = replay
			}
			if i == 0 || rng.IntN(50) == 0 {
				replay = x
			}
			c.Add(x)
			if got := c.SmoothedRTT(); got < time.Millisecond || got > 10*time.Second {
				t.Fatalf("sample %d: smoothed round trip %v", i, got)
			}
			if got := c.RTT(); got < 0 || got > 10*time.Second {
				t.Fatalf("sample %d: round trip %v", i, got)
			}
			if got := c.ErrorBound(at(now)); got < 0 {
				t.Fatalf("sample %d: error bound %v", i, got)
			}
			read, passed := c.Remote(at(now)), now-lastAt
			moved := (int64(read-last)*1000 - passed)
			if limit := passed/slewDivisor + 2000; moved > limit || moved < -limit {
				t.Fatalf("sample %d moved the clock by %v in %v", i, time.Duration(moved), time.Duration(passed))
			}
			last, lastAt = read, now
		}
		s := c.Stats()
		if sum := s.Kept + s.Repeated + s.Backwards + s.TooLong + s.Far; sum != 100_001 {
			t.Errorf("counters sum up to %d: %+v", sum, s)
		}
		if s.Kept == 0 || s.Repeated == 0 || s.Backwards == 0 || s.TooLong == 0 || s.Far == 0 {
			t.Errorf("a fate was never met: %+v", s)
		}
	})
}

func TestReplayingOneExchangeChangesNothing(t *testing.T) {
	var c FourTime
	x := Exchange{ms(0), 1 << 50, 1 << 50, ms(30)}
	c.Add(x)
	want := c
	for range 1000 {
		c.Add(x)
		x.Received = x.Received.Add(time.Millisecond)
	}
	want.stats = c.stats
	if c != want {
		t.Error("replays changed the clock")
	}
}

func TestRemoteTimeMayWrap(t *testing.T) {
	var c FourTime
	start := ^uint64(0) - 1_000_000 // wraps after a second
	for i := range uint64(5) {
		sent := float64(i * 500)
		c.Add(Exchange{ms(sent), start + i*500_000 + 10_000, start + i*500_000 + 10_000, ms(sent + 20)})
		for _, later := range []float64{20, 200, 500} {
			want := start + i*500_000 + uint64(later*1000)
			if got := c.Remote(ms(sent + later)); got != want {
				t.Errorf("at %v ms: got %d, want %d", sent+later, got, want)
			}
			if got, want := c.Local(want), ms(sent+later); !got.Equal(want) {
				t.Errorf("back: got %v, want %v", got, want)
			}
		}
	}
}

func TestAbsurdTimesDoNotOverflow(t *testing.T) {
	var c FourTime
	c.Add(Exchange{ms(0), 5, 5, ms(30)})
	c.Add(Exchange{ms(100), 5 + 63e12, 5 + 63e12, ms(100.01)}) // two years to slew in
	for _, r := range []uint64{0, 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 6, math.MaxUint64} {
		got := c.Local(r)
		if ahead := int64(r-5) >= 0; ahead != got.After(ms(15)) {
			t.Errorf("Local(%d) = %v", r, got)
		}
	}
	for _, now := range []time.Time{{}, time.Unix(0, 0), origin.AddDate(300, 0, 0), origin.AddDate(-300, 0, 0)} {
		if c.ErrorBound(now) < 0 {
			t.Errorf("error bound at %v is negative", now)
		}
		if ahead := int64(c.Remote(now)-5) >= 0; ahead != now.After(origin) {
			t.Errorf("Remote(%v) = %d", now, c.Remote(now))
		}
	}
}

func TestStateIsSmallAndNothingAllocates(t *testing.T) {
	if size := unsafe.Sizeof(FourTime{}); size > 400 {
		t.Errorf("FourTime takes %d bytes, want at most 400", size)
	}
	if size := unsafe.Sizeof(OneWay{}); size > 400 {
		t.Errorf("OneWay takes %d bytes, want at most 400", size)
	}
	var four FourTime
	var one OneWay
	now := origin
	allocs := testing.AllocsPerRun(1000, func() {
		sent := now
		now = now.Add(20 * time.Millisecond)
		peer := uint64(now.Sub(origin).Microseconds())
		four.Add(Exchange{sent, peer - 10_000, peer - 9_000, now})
		one.Accept(sent, peer, now)
		one.Stamp(now, peer)
		sinkTime = four.Local(four.Remote(now) + one.Remote(now))
		sinkDuration = four.ErrorBound(now) + one.ErrorBound(now)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a sample", allocs)
	}
}

var (
	sinkTime     time.Time
	sinkDuration time.Duration
	sinkMicros   uint64
)

func BenchmarkFourTimeAdd(b *testing.B) {
	b.ReportAllocs()
	var c FourTime
	now := origin
	for b.Loop() {
		now = now.Add(time.Millisecond)
		peer := uint64(now.Sub(origin).Microseconds())
		c.Add(Exchange{now.Add(-time.Millisecond), peer, peer, now})
	}
}

func BenchmarkRemote(b *testing.B) {
	b.ReportAllocs()
	var c FourTime
	c.Add(Exchange{ms(0), 0, 0, ms(100)})
	c.Add(Exchange{ms(100), 1e9, 1e9, ms(110)})
	now := ms(200)
	for b.Loop() {
		sinkMicros += c.Remote(now)
	}
}
