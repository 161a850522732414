package kit

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/pace"
)

// FollowsALongerPath is the law of a path that becomes another one, with a longer round trip and without a limit: at first that looks like a
// queue, but 40 s later all is told again.
func (d Slow) FollowsALongerPath(t *testing.T) {
	if d.raced(t) {
		return
	}
	for _, seed := range chance.Seeds(max(Tier(1, 3, 50), 1)) {
		got, err := d.Run(seed, 1, SlowPath{For: 10 * time.Second}, SlowPath{For: 50 * time.Second, Longer: 120 * time.Millisecond})
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		last := got.Budgets[len(got.Budgets)-int(10*time.Second/slowTick):]
		for i, e := range last {
			if e.Budget != pace.Unlimited {
				t.Fatalf("seed=%d: %d ticks before the end: %+v", seed, len(last)-i, e)
			}
		}
	}
}
