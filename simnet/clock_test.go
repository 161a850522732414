package simnet

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

func TestAClockTurnsBothWaysToTheNanosecond(t *testing.T) {
	for _, seed := range chance.Seeds(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var c clock
		now := rng.Int64N(int64(time.Hour))
		for range 5 {
			now += rng.Int64N(int64(time.Hour))
			if rng.IntN(2) == 0 {
				c.setRate(now, (rng.Float64()-0.5)*2*[]float64{1, 500, maxSkewPPM}[rng.IntN(3)])
			} else {
				c.shift(now, rng.Int64N(int64(2*time.Hour))-int64(time.Hour))
			}
			deadline := c.local(now) + rng.Int64N(int64(48*time.Hour))
			at := c.network(now, deadline)
			if c.local(at) < deadline {
				t.Fatalf("seed=%d: at %d the clock shows %d, before the deadline %d", seed, at, c.local(at), deadline)
			}
			if at > now && c.local(at-1) >= deadline {
				t.Fatalf("seed=%d: the deadline %d had come before %d", seed, deadline, at)
			}
		}
	}
}

func TestAClockThatIsFastBy500PPMGains43SecondsADay(t *testing.T) {
	var c clock
	c.setRate(0, 500)
	day := int64(24 * time.Hour)
	if got, want := c.local(day)-day, int64(43_200*time.Millisecond); got != want {
		t.Fatalf("got %d, want %d", got, want)
	}
	c.setRate(day, -500)
	if got := c.local(2*day) - 2*day; got != 0 {
		t.Fatalf("after a day as slow it is off by %d", got)
	}
}
