package world

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// One account whose inputs are all late, among 200 who are in time: what a tick costs with it and without, in one run. 20 ticks are as
// late as may be, at 20 a second or at one; 5 ticks are what the replay budget pays for.
func BenchmarkTickWithALatePlayer(b *testing.B) {
	for _, bb := range []struct{ late, every int }{{20, 1}, {20, 20}, {5, 1}} {
		b.Run(fmt.Sprintf("late=%d/every=%d", bb.late, bb.every), func(b *testing.B) {
			var worlds [2]*Sim
			var players [2][]PlayerID
			for i := range worlds {
				worlds[i], players[i], _ = newMovers(b, 1000, 200, ViewConfig{})
			}
			var took [2][]time.Duration
			tick := func(n int) {
				for i, s := range worlds {
					for j, p := range players[i][1:] {
						if (n+j)%10 == 0 { // twice a second
							s.Steer(p, s.Tick(), steer(float32(n%6), 0.5), 0)
						}
					}
					if i == 1 && n%bb.every == 0 {
						s.Steer(players[i][0], s.Tick()-uint64(bb.late), steer(float32(n%6), 0.5), 0)
					}
					began := time.Now()
					s.Advance()
					took[i] = append(took[i], time.Since(began))
				}
			}
			for range 700 { // until everybody's share of the budget is whole
				worlds[0].Advance()
				worlds[1].Advance()
			}
			for n := range 60 {
				tick(n)
			}
			took = [2][]time.Duration{}
			n := 0
			for b.Loop() {
				tick(n)
				n++
			}
			var mean, p99 [2]float64
			for i, list := range took {
				slices.Sort(list)
				for _, d := range list[:len(list)*99/100+1] { // but for what the machine did meanwhile
					mean[i] += float64(d)
				}
				p99[i] = float64(list[len(list)*99/100])
			}
			b.ReportMetric(mean[1]/mean[0], "times-the-mean")
			b.ReportMetric(p99[1]/p99[0], "times-the-p99")
			b.ReportMetric(mean[0]/float64(len(took[0]))/1e6, "ms-without")
		})
	}
}
