package picture

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// trouble is what clocks have to bear with. All but the last seconds of a run may be rough; in those they are as good as ever.
var trouble = []struct {
	name  string
	trial trial
	jump  bool // it is a pause of seconds
}{
	{"nothing", trial{rate: 20, trip: 80 * time.Millisecond}, false},
	{"a second a tick", trial{rate: 1, trip: 80 * time.Millisecond, jitter: 50 * time.Millisecond, loss: .05}, false},
	{"a player who steers all the time", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, loss: .05, probes: 30, again: true}, false},
	{"10 ticks a second", trial{rate: 10, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, loss: .05}, false},
	{"60 ticks a second", trial{rate: 60, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, loss: .05}, false},
	{"128 ticks a second", trial{rate: 128, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, loss: .02}, false},
	{"1000 ticks a second", trial{rate: 1000, trip: 30 * time.Millisecond, jitter: 5 * time.Millisecond, loss: .01}, false},
	{"much jitter", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 150 * time.Millisecond, loss: .02}, false},
	{"a client's clock that is slow", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, drift: -3e-4}, false},
	{"a client's clock that is fast", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, drift: 3e-4}, false},
	{"a server that stops for a moment", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, stalls: map[int]time.Duration{400: 300 * time.Millisecond}}, false},
	{"a server that stops for long", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, stalls: map[int]time.Duration{400: 4 * time.Second}}, false},
	{"a client that stops for a moment", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, pause: [2]time.Duration{20 * time.Second, 20300 * time.Millisecond}}, false},
	{"a client that stops for long", trial{rate: 20, trip: 80 * time.Millisecond, jitter: 20 * time.Millisecond, pause: [2]time.Duration{20 * time.Second, 25 * time.Second}}, true},
	{"a longer way", trial{rate: 20, trip: 40 * time.Millisecond, jitter: 20 * time.Millisecond, shift: 160 * time.Millisecond, loss: .02}, false},
	{"a shorter way", trial{rate: 20, trip: 240 * time.Millisecond, jitter: 20 * time.Millisecond, shift: -200 * time.Millisecond, loss: .02}, false},
}

// TestClocksInTrouble: never back, no jump but after a pause, and good again at the end.
func TestClocksInTrouble(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	const seconds = 60.0
	for _, tt := range trouble {
		t.Run(tt.name, func(t *testing.T) {
			for _, seed := range chance.Seeds(promise.Tier(1, 4, 100)) {
				clockTrouble(t, tt.trial, seed, seconds, tt.jump)
			}
		})
		t.Run("lead over "+tt.name, func(t *testing.T) {
			for _, seed := range chance.Seeds(promise.Tier(1, 4, 100)) {
				leadTrouble(t, tt.trial, seed, seconds, tt.jump)
			}
		})
	}
}

func clockTrouble(t *testing.T, l trial, seed uint64, seconds float64, jump bool) {
	l.stalls = copyOf(l.stalls)
	all := l
	all.stalls = copyOf(l.stalls)
	whole := all.draw(t, seed, 3+4/float64(l.rate), seconds)
	end := l.draw(t, seed, seconds-max(15, 20/float64(l.rate)), seconds)
	t.Logf("seed=%d: %d of %d frames without a bracket, %d of the last %d; delay %.2f ticks at the end; speed %.2f to %.2f; %d jumps",
		seed, whole.bare, whole.frames, end.bare, end.frames, mean(end.delays), end.slowest, end.fastest, whole.jumps)
	most := 2 + .95*l.jitter.Seconds()*float64(l.rate) + .05
	switch {
	case l.rate > 40:
		most += .06 * l.jitter.Seconds() * float64(l.rate) // several ticks count as one, the latest
	case l.rate < 5:
		most += .5 // what is lost makes up much of the end
	}
	if end.bare > 0 || mean(end.delays) > most || whole.jumps > 0 && !jump || whole.jumps > 1 {
		t.Errorf("seed=%d: a delay of %.2f at most, no jump, no frame without a bracket", seed, most)
	}
}

func leadTrouble(t *testing.T, l trial, seed uint64, seconds float64, jump bool) {
	if l.inputs = 1; l.probes == 0 {
		l.probes = max(8, min(20, float64(l.rate)/2))
	}
	l.stalls = copyOf(l.stalls)
	var was, at float64
	var leads []float64
	var jumps, n, good int
	fast := 0.0
	l.frame = func(now float64) {
		own := l.lead.At(l.time(now))
		if own < was {
			t.Errorf("seed=%d: from %v back to %v", seed, was, own)
		}
		if speed := (own - was) / ((now - at) * float64(l.rate)); was > 0 && now > 5+10/float64(l.rate) && l.paused(at) == at {
			fast = max(fast, speed)
			if speed > 1.6 {
				jumps++
			}
		}
		was, at = own, now
		if now > seconds-15 {
			leads = append(leads, own-l.server(now))
		}
	}
	l.came = func(now float64, margin, copies int) {
		if now < seconds-15 || copies > 0 {
			return
		}
		n++
		if margin >= 1 {
			good++
		}
	}
	l.run(seed, seconds)
	most := (l.trip.Seconds()+l.shifted)/2*float64(l.rate) + .99*l.jitter.Seconds()*float64(l.rate) + 1
	t.Logf("seed=%d: lead %.2f p95 %.2f, and %.2f is the bar; %d of %d with a margin; fastest %.2f, %d jumps", seed, mean(leads), part(leads, .95), most, good, n, fast, jumps)
	least := .93
	if l.jitter.Seconds()*float64(l.rate) > 1 {
		least = .88 // those that newer ones overtake are not told of
	}
	if l.rate < 5 {
		most += .3
	}
	if mean(leads) > most+.3 || float64(good) < least*float64(n) || jumps > 0 && !jump && l.stalls == nil || jumps > 1 {
		t.Errorf("seed=%d: it is worse than that", seed)
	}
}

func copyOf(m map[int]time.Duration) map[int]time.Duration {
	c := map[int]time.Duration{}
	for k, v := range m {
		c[k] = v
	}
	return c
}
