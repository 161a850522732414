package simnet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"parley/internal/kit/chance"
)

func TestTheEventHeapGivesTheOrderOfTimeAndThenOfBirth(t *testing.T) {
	for _, seed := range chance.Seeds(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var h eventHeap
		var model []event
		for seq := range uint64(500) {
			if rng.IntN(3) > 0 || len(model) == 0 {
				e := event{at: rng.Int64N(40), seq: seq}
				h.push(e)
				model = append(model, e)
				continue
			}
			slices.SortFunc(model, func(a, b event) int {
				if a.before(&b) {
					return -1
				}
				return 1
			})
			if got := h.pop(); got != model[0] {
				t.Fatalf("seed=%d: got %+v, want %+v", seed, got, model[0])
			}
			model = model[1:]
		}
		if h.top() != nil && len(model) == 0 || len(h.items) != len(model) {
			t.Fatalf("seed=%d: %d left, want %d", seed, len(h.items), len(model))
		}
	}
}

func TestTheTimerHeapFollowsTimersThatMove(t *testing.T) {
	for _, seed := range chance.Seeds(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		hosts := make([]*Host, 20)
		for i := range hosts {
			hosts[i] = &Host{timerPos: -1}
		}
		var tm timers
		for step := range 1000 {
			h := hosts[rng.IntN(len(hosts))]
			if rng.IntN(4) == 0 {
				tm.remove(h)
			} else {
				h.timerAt, h.timerSeq = rng.Int64N(30), uint64(step)
				tm.set(h)
			}
			var want *Host
			for _, o := range hosts {
				if o.timerPos >= 0 && (want == nil || o.timerAt < want.timerAt || o.timerAt == want.timerAt && o.timerSeq < want.timerSeq) {
					want = o
				}
			}
			if tm.top() != want {
				t.Fatalf("seed=%d: step %d: the top is not the earliest", seed, step)
			}
		}
	}
}
