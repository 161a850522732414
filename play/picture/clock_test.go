package picture

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// drawing is what was seen of a Clock in a run.
type drawing struct {
	frames, bare int       // bare have no tick after the one that is drawn
	delays       []float64 // in ticks, behind those that come without jitter
	jumps        int
	slowest      float64
	fastest      float64
}

// draw runs a trial and looks at each frame after some seconds.
func (l *trial) draw(t *testing.T, seed uint64, warm, seconds float64) drawing {
	t.Helper()
	d := drawing{slowest: math.Inf(1)}
	var was, at float64
	l.frame = func(now float64) {
		tick, ok := l.clock.At(l.time(now))
		if !ok {
			return
		}
		if tick < was {
			t.Errorf("seed=%d: from %v back to %v", seed, was, tick)
		}
		if was != 0 && l.paused(at) == at {
			speed := (tick - was) / ((now - at) * float64(l.rate))
			if speed > 1.6 {
				d.jumps++
			}
			if now > warm {
				d.slowest, d.fastest = min(d.slowest, speed), max(d.fastest, speed)
			}
		}
		was, at = tick, now
		if now < warm {
			return
		}
		d.frames++
		if tick >= float64(l.heard[len(l.heard)-1]) {
			d.bare++
		}
		d.delays = append(d.delays, l.server(now-(l.trip.Seconds()+l.shifted)/2)-tick)
	}
	l.run(seed, seconds)
	return d
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

func part(list []float64, q float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return quantile(list, q)
}

// The bars of others: "interpolation delay <= 2 ticks + the jitter's p95, frames without a bracket <= 0.1%, no step backwards ever".
func TestClockBars(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	const jitter = 20 * time.Millisecond
	seeds := chance.Seeds(promise.Tier(2, 20, 200))
	for _, trip := range []time.Duration{50, 100, 200} {
		for _, loss := range []float64{0, .02, .05} {
			t.Run(fmt.Sprintf("%dms %v%%", trip, 100*loss), func(t *testing.T) {
				var frames, bare, jumps int
				var delays []float64
				slowest := 1.0
				for _, seed := range seeds {
					l := trial{rate: 20, trip: trip*time.Millisecond - jitter, jitter: jitter, loss: loss, drift: 1e-4}
					d := l.draw(t, seed, 5, 60)
					frames, bare, jumps = frames+d.frames, bare+d.bare, jumps+d.jumps
					delays = append(delays, d.delays...)
					slowest = min(slowest, d.slowest)
				}
				most := 2 + .95*jitter.Seconds()*20
				t.Logf("%d frames, %d without a bracket; delay %.2f ticks, p50 %.2f p95 %.2f p99 %.2f, and %.2f is the bar; slowest %.2f", frames, bare, mean(delays), part(delays, .5), part(delays, .95), part(delays, .99), most, slowest)
				if float64(bare) > .001*float64(frames) || jumps > 0 || mean(delays) > most || part(delays, .95) > most {
					t.Errorf("bare %d, jumps %d", bare, jumps)
				}
			})
		}
	}
}
