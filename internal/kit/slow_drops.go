package kit

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// dropLosses are the losses that are compared. The one in the middle is of the gate's counts.
func dropLosses() []float64 { return []float64{0, .1, .02}[:max(Tier(2, 3, 3), 2)] }

// SendsNoMoreForDrops is the law of loss: "A sender never sends more because of drops." Whatever is lost on a link, it is sent no more than
// without loss, and no more than it takes. Dropped bytes count, and so does what is sent again. The links are those down to thinnest, in bits a
// second.
func (d Slow) SendsNoMoreForDrops(t *testing.T, thinnest int) {
	if d.raced(t) {
		return
	}
	const byChance = 1.05 // in a few seeds
	for _, rate := range []int{0, 400_000, 100_000, 50_000} {
		if rate > 0 && rate < thinnest || rate == 400_000 && Tier(1, 2, 2) == 1 {
			continue
		}
		most := 0.
		for _, loss := range dropLosses() {
			given := d.given(t, SlowPath{Rate: rate, For: 20 * time.Second, Loss: loss}, 2, 6)
			if loss == 0 {
				most = given
			}
			if rate > 0 {
				most = min(most, float64(rate)/8)
			}
			if given > byChance*most {
				t.Errorf("%d bit/s, loss %v: %.0f bytes a second, want %.0f at most", rate, loss, given, most)
			}
		}
	}
}

// BearsBadLuck is the law of loss without a queue: a link without a limit that loses up to a tenth each way is sent nearly all. It is for
// datagrams, as TCP itself gives way to such a loss.
func (d Slow) BearsBadLuck(t *testing.T) {
	if d.raced(t) {
		return
	}
	most := 0.
	for _, loss := range dropLosses() {
		given := d.given(t, SlowPath{For: 20 * time.Second, Loss: loss}, 5, 12) // single runs differ by 5%
		if most = max(most, given); given < .85*most {
			t.Errorf("loss %v: %.0f bytes a second, without loss %.0f", loss, given, most)
		}
	}
}

// given returns how many bytes a second a link is given in a few runs, or in more of the gate's.
func (d Slow) given(t *testing.T, path SlowPath, few, more int) float64 {
	t.Helper()
	var sum SlowCount
	for _, seed := range chance.Seeds(max(Tier(few, more, 100), few)) {
		got, err := d.Run(seed, 1, path)
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		sum.add(got)
	}
	given := float64(sum.Given) / sum.Seconds
	t.Logf("%d bit/s, loss %v: %.0f bytes a second, %.1f%% dropped by the queue", path.Rate, path.Loss, given, 100*float64(sum.Dropped)/float64(sum.Sent))
	return given
}
