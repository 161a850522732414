package kit

import (
	"testing"
	"time"

	"parley/internal/kit/chance"
)

const (
	feelWalkers = 12 // a player of an arena has about as many in sight

	feelWarm   = 2 * time.Second // until the players are in the game, as in W5
	feelDelay  = 25 * time.Millisecond
	feelJitter = 5 * time.Millisecond

	// feelRatio is how much later the 99th percentile of the own steps may be seen because of feelLoss.
	feelRatio = 1.3
	feelLoss  = .05
)

// Feels is the law of what a player feels: over 25 to 30 ms each way, in which datagrams overtake each other, the own steps are seen nearly as soon
// as without loss when one in twenty datagrams is lost. Without loss they take what both ways and the wait for the tick take.
// What is near is not much older.
func (d Slow) Feels(t *testing.T) {
	if d.raced(t) {
		return
	}
	free, got := d.felt(t, 0), d.felt(t, feelLoss)
	if most := 2*(feelDelay+feelJitter) + slowTick; manyAbove(free.StepTimes, most) {
		t.Errorf("of the own steps the 99th percentile is seen after %v without loss, want %v at most", Quantile(free.StepTimes, .99), most)
	}
	if most := time.Duration(feelRatio * float64(Quantile(free.StepTimes, .99))); manyAbove(got.StepTimes, most) {
		t.Errorf("of the own steps the 99th percentile is seen after %v with loss, want %v at most", Quantile(got.StepTimes, .99), most)
	}
	for loss, c := range map[float64]*SlowCount{0: &free, feelLoss: &got} {
		if near := Quantile(c.Near, .95); near > 2*slowTick {
			t.Errorf("loss %v: what is near is %v old, want two ticks at most", loss, near)
		}
	}
}

// felt adds up runs over such a path.
func (d Slow) felt(t *testing.T, loss float64) (sum SlowCount) {
	d.walkers, d.warm = feelWalkers, feelWarm
	path := SlowPath{For: 20 * time.Second, Loss: loss, Jitter: feelJitter, Longer: feelDelay + feelJitter/2 - slowDelay}
	for _, seed := range chance.Seeds(max(Tier(8, 200, 1000), 8)) {
		got, err := d.Run(seed, 1, path)
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		if got.StepsSeen < got.Steps {
			t.Errorf("seed=%d: not all steps were seen: %v", seed, got)
		}
		sum.add(got)
	}
	t.Logf("loss %v: %v", loss, sum)
	return sum
}
