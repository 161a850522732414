package kit

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// SendsNoMoreForDrops is the law of loss: "A sender never sends more because of drops." Whatever is lost on a link, it is sent no more than
// without loss, and no more than it takes. Dropped bytes count, and so does what is sent again. Where nothing but bad luck loses a tenth, it is
// not sent much less either.
func (d Slow) SendsNoMoreForDrops(t *testing.T) {
	const byChance = 1.05 // in a few seeds
	for _, rate := range []int{0, 400_000, 100_000, 50_000} {
		most := 0.
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
				most = given
			}
			if rate > 0 {
				most = min(most, float64(rate)/8)
			}
			if given > byChance*most {
				t.Errorf("%d bit/s, loss %v: %.0f bytes a second, want %.0f at most", rate, loss, given, most)
			}
			if rate == 0 && given < .85*most {
				t.Errorf("no limit, loss %v: %.0f bytes a second, without loss %.0f", loss, given, most)
			}
		}
	}
}
