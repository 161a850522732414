package reliable

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// T23: links of seventeen kinds for 60 s each. At up to 5% loss a flow gets at least 70% of the link (on the fastest 55%: it gets 60 to 62), and
// at 20% it goes on. What is delivered is in order and whole on all of them. Loss, lag and disorder are of both directions.
func TestRatesLossLagAndDisorder(t *testing.T) {
	rows := []struct {
		rate    int // bytes a second
		loss    float64
		lag     time.Duration // each way
		reorder float64
		by      time.Duration
		want    float64 // of the link
	}{
		{64_000, .20, 100 * time.Millisecond, .04, 50 * time.Millisecond, .2},
		{128_000, .20, 100 * time.Millisecond, .04, 40 * time.Millisecond, .2},
		{256_000, .20, 100 * time.Millisecond, .04, 40 * time.Millisecond, .15},
		{500_000, .20, 100 * time.Millisecond, .04, 30 * time.Millisecond, .05},
		{1_000_000, .20, 100 * time.Millisecond, .04, 10 * time.Millisecond, .04},
		{64_000, 0, 0, 0, 0, .7},
		{128_000, 0, 0, 0, 0, .7},
		{256_000, 0, 0, 0, 0, .7},
		{500_000, 0, 0, 0, 0, .7},
		{1_000_000, 0, 0, 0, 0, .7},
		{2_000_000, 0, 0, 0, 0, .7},
		{64_000, .01, 25 * time.Millisecond, .01, 10 * time.Millisecond, .7},
		{500_000, .01, 25 * time.Millisecond, .01, 10 * time.Millisecond, .7},
		{1_000_000, .01, 25 * time.Millisecond, .01, 10 * time.Millisecond, .7},
		{64_000, .05, 50 * time.Millisecond, .02, 50 * time.Millisecond, .7},
		{500_000, .05, 50 * time.Millisecond, .02, 30 * time.Millisecond, .7},
		{1_000_000, .05, 50 * time.Millisecond, .02, 10 * time.Millisecond, .55},
	}
	for _, tt := range rows {
		name := fmt.Sprintf("%d kB a second, loss %.0f%%, lag %v, disorder %.0f%% of %v", tt.rate/1000, tt.loss*100, tt.lag, tt.reorder*100, tt.by)
		if !all() && tt.rate > 500_000 || kit.Race && tt.rate > 128_000 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			kit.Seeds(t, tier(1, 1, 20), func(t *testing.T, seed uint64) {
				n := simnet.New(seed)
				n.SetLimits(simnet.Limits{Steps: 10_000_000})
				profile := simnet.Profile{Delay: tt.lag, Jitter: time.Millisecond / 2, Loss: tt.loss, Reorder: tt.reorder, ReorderBy: tt.by}
				back := n.NewLink(profile)
				profile.Rate, profile.Queue = 8*tt.rate, 200*time.Millisecond
				b := addBulk(n, seed, addrA, addrB, n.NewLink(profile), back)
				next := uint32(0)
				b.dst.handle = func(_ time.Time, m message) {
					if m.index != next || m.size != 1200 {
						t.Fatalf("seed=%d: message %d of %d bytes came, and %d was due", seed, m.index, m.size, next)
					}
					next++
					b.goodput += m.size
				}
				b.begin()
				share := measure(t, n, 5*time.Second, 60*time.Second, 8*tt.rate, b.bytes)[0]
				t.Logf("seed=%d: %.1f%% of the link", seed, share*100)
				if share < tt.want {
					t.Errorf("seed=%d: %.1f%% of the link, want at least %.0f%%", seed, share*100, tt.want*100)
				}
			})
		})
	}
	promise.Kept(t, "T23", "engine", len(rows))
}
