package picture

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// The bars of the lead: "margin >= 1 for 99% of inputs", and "<= half the round trip + the jitter's p99 + 1 tick".
func TestLeadBars(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	const jitter = 20 * time.Millisecond
	seeds := chance.Seeds(promise.Tier(1, 20, 200))
	for _, trip := range []time.Duration{50, 100, 200} {
		for _, loss := range []float64{0, .02, .05} {
			for _, probes := range []float64{5, 8, 20, 0} {
				t.Run(fmt.Sprintf("%dms %v%% %v probes", trip, 100*loss, probes), func(t *testing.T) {
					var leads []float64
					var n, good, late int
					for _, seed := range seeds {
						l := trial{rate: 20, trip: trip*time.Millisecond - jitter, jitter: jitter, loss: loss, drift: 1e-4, inputs: 1.5, probes: probes, every: probes == 0}
						var was float64
						l.frame = func(now float64) {
							own := l.lead.At(l.time(now))
							if own < was {
								t.Errorf("seed=%d: from %v back to %v", seed, was, own)
							}
							was = own
							if now > 10 {
								leads = append(leads, own-l.server(now))
							}
						}
						l.came = func(now float64, margin, copies int) {
							if now < 10 {
								return
							}
							if margin < 0 {
								late++
							}
							if copies > 0 {
								return
							}
							n++
							if margin >= 1 {
								good++
							}
						}
						l.run(seed, 60)
					}
					// Half the round trip is what is measured: half of the jitter is in it.
					most := (trip*time.Millisecond/2+jitter/2).Seconds()*20 + 1
					t.Logf("%d inputs, %.2f%% with a margin, %d late; lead %.2f ticks, p50 %.2f p95 %.2f p99 %.2f, and %.2f is the bar", n, 100*float64(good)/float64(n), late, mean(leads), part(leads, .5), part(leads, .95), part(leads, .99), most)
					least := .97 // of few seeds
					if promise.Full() {
						least = .99
					}
					if probes < 8 { // there is less to learn from, above all if they all come at the same part of a tick
						least = .8
					}
					if float64(good) < least*float64(n) || mean(leads) > most || part(leads, .95) > most+.15 {
						t.Error("it is worse than the bars")
					}
				})
			}
		}
	}
}
