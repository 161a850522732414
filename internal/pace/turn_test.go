package pace

import (
	"slices"
	"testing"
)

// However many players there are, each is the first about as often as the others, and soon.
func TestEachIsFirstInItsTurn(t *testing.T) {
	for n := range 130 {
		var players, last, times []int
		for i := range n {
			players, last, times = append(players, i), append(last, 0), append(times, 0)
		}
		for tick := range 20 * n {
			var got []int
			for i := range players {
				got = append(got, players[InTurn(uint64(tick), i, n)])
			}
			first := got[0]
			if !slices.Equal(got, slices.Concat(players[first:], players[:first])) {
				t.Fatalf("tick %d: of %d players the order is %v", tick, n, got)
			}
			if tick-last[first] > 4*n {
				t.Errorf("tick %d: of %d players the %dth is the first after %d ticks", tick, n, first, tick-last[first])
			}
			last[first], times[first] = tick, times[first]+1
		}
		if n > 0 && (slices.Min(times) < 15 || slices.Max(times) > 25) {
			t.Errorf("%d players are the first %d to %d times of 20", n, slices.Min(times), slices.Max(times))
		}
	}
}
