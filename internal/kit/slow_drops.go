package kit

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// SendsNoMoreForDrops is the law of loss: "A sender never sends more because of drops." On no link is more sent because more is lost
// on it, or because it is thinner and its queue overflows. Dropped bytes count, and so does what is sent again.
func (d Slow) SendsNoMoreForDrops(t *testing.T) {
	const chanceful = 1.05 // of a few seeds
	wider := 0.
	for _, rate := range []int{0, 400_000, 100_000, 50_000} {
		without := 0.
		for _, loss := range []float64{0, .02, .1} {
			var sum SlowCount
			for _, seed := range chance.Seeds(max(Tier(3, 20, 100), 3)) {
				got, err := d.Run(seed, 1, SlowPath{Rate: rate, For: 20 * time.Second, Loss: loss})
				if err != nil {
					t.Fatalf("seed=%d: %v", seed, err)
				}
				sum.add(got)
			}
			given := float64(sum.Given) / sum.Seconds
			t.Logf("%d bit/s, loss %v: %.0f bytes a second, %.1f%% dropped by the queue", rate, loss, given, 100*float64(sum.Dropped)/float64(sum.Sent))
			if loss == 0 {
				without = given
			}
			if most := chanceful * without; given > most {
				t.Errorf("%d bit/s, loss %v: %.0f bytes a second, without loss %.0f", rate, loss, given, without)
			}
			if wider > 0 && given > chanceful*wider {
				t.Errorf("%d bit/s, loss %v: %.0f bytes a second, on a wider link %.0f", rate, loss, given, wider)
			}
		}
		wider = without
	}
}
