package clocksync

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

func TestTicksTable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ticks  Ticks
		remote uint64
		tick   uint64
		start  uint64
	}{
		{"the zero value is 20 a second", Ticks{}, 1_000_000, 20, 1_000_000},
		{"a tick lasts until the next begins", Ticks{}, 1_049_999, 20, 1_000_000},
		{"60 a second, the second one", PerSecond(60), 16_667, 1, 16_667},
		{"60 a second, just before it", PerSecond(60), 16_666, 0, 0},
		{"60 a second, after an hour", PerSecond(60), 3_600_000_000, 216_000, 3_600_000_000},
		{"a login gives the origin", PerSecond(20).From(70_000, 1_900_000_000_000_000), 1_900_000_000_100_000, 70_002, 1_900_000_000_100_000},
		{"before the origin", PerSecond(20).From(70_000, 1_900_000_000_000_000), 1_899_999_999_999_999, 69_999, 1_899_999_999_950_000},
		{"no ticks before 0", PerSecond(20).From(1, 1_000_000), 10, 0, 950_000},
		{"33 ms each", Every(33 * time.Millisecond), 66_000, 2, 66_000},
		{"across the wrap of time", PerSecond(20).From(5, math.MaxUint64-49_999), 50_000, 7, 50_000},
	} {
		if got := tt.ticks.TickAt(tt.remote); got != tt.tick {
			t.Errorf("%s: TickAt(%d): got %d, want %d", tt.name, tt.remote, got, tt.tick)
		}
		if part := tt.ticks.PartAt(tt.remote); part < 0 || part >= 1 || math.Abs(part-float64(int64(tt.remote-tt.start))/float64(tt.ticks.Length().Microseconds())) > 1e-3 && tt.tick > 0 {
			t.Errorf("%s: PartAt(%d): got %v", tt.name, tt.remote, part)
		}
		if got := tt.ticks.Start(tt.tick); got != tt.start {
			t.Errorf("%s: Start(%d): got %d, want %d", tt.name, tt.tick, got, tt.start)
		}
	}
	if got := PerSecond(60).Length(); got != 16_666_666 {
		t.Errorf("length at 60 a second: got %v", got)
	}
}

func TestStartIsTheFirstMicrosecondOfItsTick(t *testing.T) {
	forEachSeed(t, 100_000, func(t *testing.T, rng *rand.Rand) {
		ticks := PerSecond(1 + rng.IntN(1+rng.IntN(1_000_000)))
		if rng.IntN(2) == 0 {
			ticks = Every(time.Duration(1+rng.Int64N(1+rng.Int64N(3_600_000_000))) * time.Microsecond)
		}
		first := rng.Uint64N(1<<63) >> rng.UintN(64)
		ticks = ticks.From(first, rng.Uint64())
		// Not more than 2^58 µs away, as times beyond 2^63 count as earlier ones.
		tick := max(1, first-min(first, 1<<26)+rng.Uint64N(1<<27))
		start := ticks.Start(tick)
		if got := ticks.TickAt(start); got != tick {
			t.Errorf("%+v: TickAt(Start(%d)) = %d", ticks, tick, got)
		}
		if got := ticks.TickAt(start - 1); got != tick-1 {
			t.Errorf("%+v: TickAt(Start(%d)-1) = %d", ticks, tick, got)
		}
	})
}

func TestTickAtAgreesWithExactArithmetic(t *testing.T) {
	forEachSeed(t, 100_000, func(t *testing.T, rng *rand.Rand) {
		rate := 1 + rng.IntN(1000)
		origin, first := rng.Uint64(), rng.Uint64()>>rng.UintN(64)
		ticks := PerSecond(rate).From(first, origin)
		rel := int64(rng.Uint64()) >> rng.UintN(64)
		want := new(big.Int).Mul(big.NewInt(rel), big.NewInt(int64(rate)))
		want.Div(want, big.NewInt(1_000_000)) // Euclidean: down, as the divisor is positive
		want.Add(want, new(big.Int).SetUint64(first))
		if want.Sign() < 0 {
			want.SetUint64(0)
		}
		if !want.IsUint64() {
			want.SetUint64(math.MaxUint64)
		}
		if got := ticks.TickAt(origin + uint64(rel)); got != want.Uint64() {
			t.Errorf("rate %d, first %d, %d µs from the origin: got %d, want %d", rate, first, rel, got, want)
		}
	})
}

func TestUnwireFindsTheNearestTick(t *testing.T) {
	for _, tt := range []struct {
		wire uint16
		now  uint64
		want uint64
	}{
		{0, 0, 0},
		{5, 3, 5},
		{65_535, 65_536, 65_535},
		{0, 65_535, 65_536},
		{0, 131_071, 131_072},
		{65_535, 0, 65_535}, // -1 does not exist
		{32_768, 0, 32_768},
		{32_768, 65_536, 32_768}, // half way: the earlier
		{32_767, 65_536, 98_303},
		{0, math.MaxUint64, math.MaxUint64 - 65_535}, // one more does not exist
	} {
		if got := Unwire(tt.wire, tt.now); got != tt.want {
			t.Errorf("Unwire(%d, %d): got %d, want %d", tt.wire, tt.now, got, tt.want)
		}
	}
	forEachSeed(t, 100_000, func(t *testing.T, rng *rand.Rand) {
		now := rng.Uint64() >> rng.UintN(64)
		for _, off := range []int64{-32_768, -32_767, rng.Int64N(65_536) - 32_768, 0, 32_767} {
			tick := now + uint64(off)
			if (off < 0) != (tick < now) {
				continue
			}
			if got := Unwire(Wire(tick), now); got != tick {
				t.Errorf("Unwire(Wire(%d), %d) = %d", tick, now, got)
			}
		}
	})
}

func TestAWrongTickRateIsAProgrammersMistake(t *testing.T) {
	for name, f := range map[string]func(){
		"rate 0":          func() { PerSecond(0) },
		"a rate too high": func() { PerSecond(1_000_001) },
		"length 0":        func() { Every(0) },
		"half a µs":       func() { Every(1500 * time.Nanosecond) },
		"a day":           func() { Every(24 * time.Hour) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
