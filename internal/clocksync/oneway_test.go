package clocksync

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/promise"
)

func TestOneWayFollowsTheQuickestPacket(t *testing.T) {
	const base = 1 << 61
	var c OneWay
	if c.Stamp(ms(0), 5) || c.Synced() || c.RTT() != 0 || c.ErrorBound(ms(0)) != math.MaxInt64 {
		t.Error("the zero clock pretends to know something")
	}
	// Remote time is base + local time. 10 ms out, 30 ms back.
	if !c.Accept(ms(0), base+10_000, ms(40)) {
		t.Fatal("a good accept was refused")
	}
	if got, want := c.Remote(ms(40)), uint64(base+30_000); got != want {
		t.Errorf("time of the accept plus half the round trip: got %d, want %d", got-base, want-base)
	}
	// A packet that took 12 ms: the least round trip is 22 ms, so 11 ms each way.
	if !c.Stamp(ms(52), base+40_000) {
		t.Fatal("a good stamp was refused")
	}
	if got := c.RTT().Round(time.Millisecond); got != 22*time.Millisecond {
		t.Errorf("RTT: got %v, want 22ms", got)
	}
	if got := int64(c.Remote(ms(1000)) - base); got < 998_900 || got > 999_100 {
		t.Errorf("with a quicker packet: got %d, want 999000 or so", got)
	}
	// 28 slower ones do not move it, 32 do: 50 ms late, 38 ms more than the quickest.
	for i := range 32 {
		at := 1000 + 10*float64(i)
		c.Stamp(ms(at), base+uint64(at*1000)-50_000)
		if i == 27 {
			if got := int64(c.Remote(ms(at)) - base - uint64(at*1000)); got < -1100 || got > -900 {
				t.Errorf("after 28 slower packets: off by %d µs, want -1000 or so", got)
			}
		}
	}
	if got := int64(c.Remote(ms(5000)) - base - 5_000_000); got < -39_100 || got > -38_900 {
		t.Errorf("after 32 slower packets: off by %d µs, want -39000 or so", got)
	}
	if got := c.ErrorBound(ms(5000)); got < 39*time.Millisecond {
		t.Errorf("error bound %v is less than the error", got)
	}
}

func TestOneWayRefusesWhatCannotBe(t *testing.T) {
	const base = 1 << 40
	type stats = OneWayStats
	for _, tt := range []struct {
		name string
		do   func(c *OneWay) bool
		fate func(stats) uint64
	}{
		{"an accept before its question", func(c *OneWay) bool { return c.Accept(ms(201), base, ms(200)) }, func(s stats) uint64 { return s.Backwards }},
		{"an accept after more than 10 s", func(c *OneWay) bool { return c.Accept(ms(200), base, ms(10_201)) }, func(s stats) uint64 { return s.TooLong }},
		{"an accept from the future", func(c *OneWay) bool { return c.Accept(ms(200), base+300_000, ms(220)) }, func(s stats) uint64 { return s.Future }},
		{"an accept sent before it was asked for", func(c *OneWay) bool { return c.Accept(ms(200), base+150_000, ms(220)) }, func(s stats) uint64 { return s.Late }},
		{"an accept from centuries away", func(c *OneWay) bool { return c.Accept(ms(200), base+1<<62, ms(220)) }, func(s stats) uint64 { return s.Far }},
		{"a stamp from the future", func(c *OneWay) bool { return c.Stamp(ms(200), base+211_000) }, func(s stats) uint64 { return s.Future }},
		{"a stamp that is 11 s old", func(c *OneWay) bool { return c.Stamp(ms(12_000), base+1_000_000) }, func(s stats) uint64 { return s.Late }},
		{"a stamp from centuries away", func(c *OneWay) bool { return c.Stamp(ms(200), base+1<<63) }, func(s stats) uint64 { return s.Far }},
		{"a stamp three years off", func(c *OneWay) bool { return c.Stamp(ms(200), base+94_000_000_000_000) }, func(s stats) uint64 { return s.Far }},
	} {
		var c OneWay
		c.Accept(ms(100), base+110_000, ms(120))
		before := c
		if tt.do(&c) {
			t.Errorf("%s: kept", tt.name)
		}
		if tt.fate(c.Stats()) != 1 || c.Stats().Kept != 1 {
			t.Errorf("%s: counted as %+v", tt.name, c.Stats())
		}
		before.stats, before.refused = c.stats, c.refused
		if c != before {
			t.Errorf("%s: changed the clock", tt.name)
		}
	}
}

func TestOneWayStartsOverWhenNothingFits(t *testing.T) {
	const base = 1 << 40
	for _, tt := range []struct {
		name  string
		shift int64 // µs that the remote clock jumps
	}{
		{"the remote clock is an hour ahead", 3_600_000_000},
		{"the remote clock is an hour behind", -3_600_000_000},
	} {
		var c OneWay
		c.Accept(ms(0), base+10_000, ms(20))
		last := c.Remote(ms(99))
		for i := range 100 {
			at := 100 + 10*float64(i)
			kept := c.Stamp(ms(at), base+uint64(int64(at*1000)-10_000+tt.shift))
			if want := i >= 31; kept != want {
				t.Errorf("%s: stamp %d kept: %v, want %v", tt.name, i, kept, want)
			}
			if got := c.Remote(ms(at)); int64(got-last) < 0 || got-last > 12_000 {
				t.Errorf("%s: jumped by %d µs", tt.name, int64(got-last))
			} else {
				last = got
			}
		}
		if s := c.Stats(); s.Restarted != 1 || s.Future+s.Late != 31 {
			t.Errorf("%s: stats %+v", tt.name, s)
		}
		// An hour at 5% takes 20 hours.
		at := ms(21 * 3_600_000)
		if got, want := c.Remote(at), base+uint64(at.Sub(origin).Microseconds()+tt.shift); int64(got-want) > 100 || int64(want-got) > 100 {
			t.Errorf("%s: off by %d µs after 21 hours", tt.name, int64(got-want))
		}
	}
}

func TestOneWayStartsOverOnlyAfterRefusalsInARow(t *testing.T) {
	var c OneWay
	c.Accept(ms(0), 10_000, ms(20))
	for i := range 500 {
		at := 100 + 10*float64(i)
		peer := uint64(at * 1000)
		if i%32 != 31 {
			peer += 3_600_000_000
		}
		c.Stamp(ms(at), peer-10_000)
	}
	if s := c.Stats(); s.Restarted != 0 || s.Kept != 1+500/32 {
		t.Errorf("stats %+v", s)
	}
}

func TestOneWayTakesALaterAcceptThatSaysMore(t *testing.T) {
	var c OneWay
	c.Accept(ms(0), 900_000, ms(910)) // 900 ms out, 10 ms back: 445 ms too far
	if !c.Accept(ms(1000), 1_010_000, ms(1020)) {
		t.Fatal("refused")
	}
	if got := int64(c.Remote(ms(1020))) - 1_020_000; got != 445_000 {
		t.Errorf("stepped: off by %d µs, want 445000", got)
	}
	if got := c.ErrorBound(ms(1020)); got < 445*time.Millisecond || got > 460*time.Millisecond {
		t.Errorf("while it slews, the error bound is %v", got)
	}
	if got := int64(c.Remote(ms(20_000))) - 20_000_000; got < -100 || got > 100 {
		t.Errorf("off by %d µs after all", got)
	}
	if got := c.ErrorBound(ms(20_000)); got > 30*time.Millisecond {
		t.Errorf("the error bound is still %v", got)
	}
}

func TestOneWayStaysWithinItsErrorBound(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 6
	}
	forEachSeed(t, n, func(t *testing.T, rng *rand.Rand) {
		const length = 3 * time.Minute
		s, c := newSim(rng, length), &OneWay{}
		w := &watch{t: t, s: s, c: c}
		out, in := s.delay(s.out), s.delay(s.in)
		arrivals := []arrival{{out + in, func() {
			c.Accept(s.localAt(0), s.remoteAt(out), s.localAt(out+in))
		}}}
		for asked := out + in; asked < int64(length); asked += 20e9 {
			answered := asked + s.delay(s.out)
			back := answered + s.delay(s.in)
			arrivals = append(arrivals, arrival{back, func() { c.Accept(s.localAt(asked), s.remoteAt(answered), s.localAt(back)) }})
		}
		every := int64(50*time.Millisecond) + rng.Int64N(int64(time.Second))
		for sent := out + in; sent < int64(length); sent += every {
			for copies := rng.IntN(3); copies > 0; copies-- {
				if rng.Float64() >= s.loss {
					at := sent + s.delay(s.in)
					arrivals = append(arrivals, arrival{at, func() { c.Stamp(s.localAt(at), s.remoteAt(sent)) }})
				}
			}
		}
		s.run(arrivals, w.read)
		if got := c.Stats(); got.Future+got.Late+got.Far+got.Restarted != 0 {
			t.Errorf("honest stamps were refused: %+v", got)
		}
	})
}

// A burst as realm's time server sends it: the first answer is the accept.
func TestOneWayTakesTheBestOfABurst(t *testing.T) {
	forEachSeed(t, 50, func(t *testing.T, rng *rand.Rand) {
		s, c := newSim(rng, time.Minute), &OneWay{}
		s.out, s.in, s.jitter = 20*time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
		out := s.delay(s.out)
		end := int64(0)
		for i := range int64(10) {
			sent := out + i*int64(100*time.Millisecond)
			at := sent + s.delay(s.in)
			if i == 0 {
				c.Accept(s.localAt(0), s.remoteAt(sent), s.localAt(at))
			} else {
				c.Stamp(s.localAt(at), s.remoteAt(sent))
			}
			end = max(end, at)
		}
		// Left: half of what held up the question, and a tenth of what holds up an answer.
		later := end + int64(5*time.Second)
		err := time.Duration(int64(c.Remote(s.localAt(later))-s.base)*1000 - s.truthAt(later)).Abs()
		if limit := time.Duration(out)/2 - s.out/2 + 15*time.Millisecond; err > limit {
			t.Errorf("off by %v, want at most %v", err, limit)
		}
	})
}

// T15 for stamps.
func TestOneWayWithstandsPoison(t *testing.T) {
	forEachSeed(t, 3, func(t *testing.T, rng *rand.Rand) {
		var c OneWay
		base, now := rng.Uint64(), int64(20e6)
		at := func(ns int64) time.Time { return origin.Add(time.Duration(ns)) }
		c.Accept(at(0), base+10_000, at(now))
		last, lastAt := c.Remote(at(now)), now
		for i := range promise.Keeps(t, "T15", "clocksync", 100_000) {
			now += rng.Int64N(2e6)
			peer := base + uint64(now/1000)
			switch rng.IntN(5) {
			case 0:
				peer += rng.Uint64N(1e9)
			case 1:
				peer -= rng.Uint64N(1e9)
			case 2:
				peer = rng.Uint64()
			case 3:
				c.Accept(at(now-rng.Int64N(20e9)+1e9), peer-rng.Uint64N(1e8), at(now))
			}
			c.Stamp(at(now), peer)
			if got := c.RTT(); got < 0 || got > 10*time.Second {
				t.Fatalf("stamp %d: round trip %v", i, got)
			}
			read, passed := c.Remote(at(now)), now-lastAt
			moved := int64(read-last)*1000 - passed
			if limit := passed/slewDivisor + 2000; moved > limit || moved < -limit {
				t.Fatalf("stamp %d moved the clock by %v in %v", i, time.Duration(moved), time.Duration(passed))
			}
			last, lastAt = read, now
		}
		s := c.Stats()
		if s.Kept == 0 || s.Backwards == 0 || s.TooLong == 0 || s.Far == 0 || s.Future == 0 || s.Late == 0 {
			t.Errorf("a fate was never met: %+v", s)
		}
		// One in five stamps is honest, and the forged ones must not have drowned it.
		if off := int64(c.Remote(at(now)) - base - uint64(now/1000)); off > 1_000_000 || off < -1_000_000 {
			t.Errorf("off by %d µs after all", off)
		}
	})
}

func BenchmarkOneWayStamp(b *testing.B) {
	b.ReportAllocs()
	var c OneWay
	now := origin
	c.Accept(now, 0, now)
	for b.Loop() {
		now = now.Add(time.Millisecond)
		c.Stamp(now, uint64(now.Sub(origin).Microseconds()))
	}
}
