package kit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// slowRow is a way down with a limit.
type slowRow struct {
	name  string
	paths []SlowPath
}

var slowRows = []slowRow{
	{"100 kbit/s", []SlowPath{{Rate: 100_000, For: 20 * time.Second}}},
	{"400 kbit/s", []SlowPath{{Rate: 400_000, For: 20 * time.Second}}},
	{"2 Mbit/s", []SlowPath{{Rate: 2_000_000, For: 20 * time.Second}}},
	{"2 Mbit/s, 200 kbit/s, 2 Mbit/s", []SlowPath{{Rate: 2_000_000, For: 8 * time.Second}, {Rate: 200_000, For: 10 * time.Second}, {Rate: 2_000_000, For: 8 * time.Second}}},
}

// slowLosses are the losses of the rows. Those with loss are of the gate's counts: all rows of all dialects take a minute.
func slowLosses() []float64 { return []float64{0, .02}[:Tier(1, 2, 2)] }

// rowsOf returns the first and the last row, or with the gate's counts all of them: what is between is slow in the same way.
func rowsOf(rows []slowRow) []slowRow {
	if Tier(0, 1, 1) > 0 && !testing.Short() {
		return rows
	}
	return []slowRow{rows[0], rows[len(rows)-1]}
}

// Serves is the law of a slow link, for each way down with and without loss: a player sees all of its own steps and lines soon, the link's
// queue stays short and the link is used. What is near is told often, and nothing is forgotten.
func (d Slow) Serves(t *testing.T) {
	if d.raced(t) {
		return
	}
	for _, loss := range slowLosses() {
		free := d.rounds(t, d.servesSeeds(), SlowPath{For: 20 * time.Second, Loss: loss})
		t.Logf("%-30s loss %v: %v", "no limit", loss, free)
		for _, row := range rowsOf(slowRows) {
			t.Run(fmt.Sprintf("%s, loss %v", row.name, loss), func(t *testing.T) {
				paths := slices.Clone(row.paths)
				for i := range paths {
					paths[i].Loss = loss
				}
				got := d.rounds(t, d.servesSeeds(), paths...)
				t.Logf("%-30s loss %v: %v", row.name, loss, got)
				d.judge(t, paths, free, got)
			})
		}
	}
}

// HoldsNothingBack is the law of a link without a limit: whatever its delays look like, a player is told all that there is.
func (d Slow) HoldsNothingBack(t *testing.T) {
	if d.raced(t) {
		return
	}
	for _, loss := range slowLosses() {
		seeds := max(Tier(5, 50, 200), 5) // how much is held back differs much from seed to seed
		free := d.rounds(t, seeds, SlowPath{For: 20 * time.Second, Loss: loss})
		got := d.rounds(t, seeds, SlowPath{For: 20 * time.Second, Loss: loss, Jitter: 2 * slowDelay})
		t.Logf("loss %v: %v", loss, got)
		if got.rate() < .95*free.rate() {
			t.Errorf("loss %v: %.0f bytes a second were sent, without jitter %.0f", loss, got.rate(), free.rate())
		}
		if most := Quantile(free.Near, .95) + 2*slowDelay; Quantile(got.Near, .95) > most && !d.Watch { // who watches is nowhere
			t.Errorf("loss %v: what is near is %v old, want %v at most", loss, Quantile(got.Near, .95), most)
		}
		// A step and what comes back jitter both, and so does the delay after which a lost step is sent again.
		if most := Quantile(free.StepTimes, .99) + 3*slowDelay; manyAbove(got.StepTimes, most) {
			t.Errorf("loss %v: of the own steps the 99th percentile is seen after %v, want %v at most", loss, Quantile(got.StepTimes, .99), most)
		}
	}
}

func (d Slow) servesSeeds() int { return max(Tier(cmp.Or(d.Few, 10), 25, 200), cmp.Or(d.Few, 10)) }

// rounds adds up runs of one player. A 99th percentile needs several.
func (d Slow) rounds(t *testing.T, seeds int, paths ...SlowPath) (sum SlowCount) {
	t.Helper()
	for _, seed := range chance.Seeds(seeds) {
		got, err := d.Run(seed, 1, paths...)
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		if got.StepsSeen < got.Steps || got.LinesSeen < got.Lines {
			t.Errorf("seed=%d: not all was seen: %v", seed, got)
		}
		sum.add(got)
	}
	return sum
}

func (c *SlowCount) rate() float64 { return float64(c.Used) / c.Seconds }

// judge holds the rounds of a row against its bars. free are those without a limit.
func (d Slow) judge(t *testing.T, paths []SlowPath, free, got SlowCount) {
	least, could, total := paths[0].Rate, 0., time.Duration(0)
	for i, p := range paths {
		least = min(least, p.Rate)
		measured := p.For
		if i == 0 {
			measured -= slowStart
		}
		total += measured
		could += min(float64(p.Rate)/8, free.rate()) * measured.Seconds()
	}
	could /= total.Seconds()
	bytes := float64(least) / 8 // a second
	span := func(n int) time.Duration { return time.Duration(float64(n) / bytes * float64(time.Second)) }

	packet := span(1200 + 28)
	if most := Quantile(free.StepTimes, .99) + 100*time.Millisecond + packet; manyAbove(got.StepTimes, most) {
		t.Errorf("of the own steps the 99th percentile is seen after %v, want %v at most", Quantile(got.StepTimes, .99), most)
	}
	if most := 500 * time.Millisecond; manyAbove(got.LineTimes, most) {
		t.Errorf("of the lines the 99th percentile comes after %v, want %v at most", Quantile(got.LineTimes, .99), most)
	}
	if 100*got.Dropped > got.Sent {
		t.Errorf("%d of %d datagrams were dropped by the full queue, want 1%% at most", got.Dropped, got.Sent)
	}
	if got.rate() < .8*could {
		t.Errorf("%.0f bytes a second were sent, want 80%% of %.0f", got.rate(), could)
	}
	if wait := got.Waits / time.Duration(got.Sent-got.Dropped); wait > 30*time.Millisecond {
		t.Errorf("a datagram waits for %v, want 30 ms at most", wait)
	}
	// With half of the link for what is near, each of them is told so often; and in the other half there is a round of all. A packet is on
	// the link for a while.
	near := max(slowTick, 2*span(2*slowNear*d.Bytes))
	round := max(slowTick, 2*span(slowWalkers*d.Bytes))
	if most := Quantile(free.Near, .95) + packet + 3*near; Quantile(got.Near, .95) > most && !d.Watch { // who watches is nowhere
		t.Errorf("what is near is %v old, want %v at most", Quantile(got.Near, .95), most)
	}
	// Nothing starves: what is furthest is told a third as often as the average. If its packet is lost, that is noticed after a round trip with
	// a full queue, or by nobody where nothing is acknowledged, and it waits for another turn. That the second is lost too happens in 200 runs.
	turns := time.Duration(3)
	if paths[0].Loss > 0 {
		turns += 4
	}
	if most := free.Oldest + turns*round + slowQueue; got.Oldest > most {
		t.Errorf("a walker was %v old, want %v at most", got.Oldest, most)
	}
}

// manyAbove reports whether more than one in a hundred is above a time, and more than chance makes of so few.
func manyAbove(times []time.Duration, most time.Duration) bool {
	above := 0
	for _, d := range times {
		if d > most {
			above++
		}
	}
	want := float64(len(times)) / 100
	return float64(above) > want+3*math.Sqrt(want)
}
