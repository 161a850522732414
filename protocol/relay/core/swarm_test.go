package core

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/simnet"
)

// partyGuests is how many guests a seed has: 2 to 5, now and then up to 16.
func partyGuests(seed uint64) int {
	if seed%40 == 39 {
		return 6 + int(seed/40%11)
	}
	return 2 + int(seed%4)
}

// T21, T28: whatever the network does, for every sender and every participant who was there,
// reliable packages arrive exactly once, and semi-ordered ones in that sender's order and after
// all reliable ones before them; or someone's stay ends with a reason. Once the faults end all
// are in the room and have all that they were sent within 30 s. No run goes round in circles.
func TestSwarm(t *testing.T) {
	if *seedFlag != 0 {
		runSwarm(t, *seedFlag, 1)
		return
	}
	const parts = 4
	seeds := uint64(promise.Keeps(t, "T21 T28", "relay", rounds(2000, 100_000)))
	for i := range uint64(parts) {
		t.Run(fmt.Sprintf("part %d", i+1), func(t *testing.T) {
			t.Parallel()
			runSwarm(t, 1+i*seeds/parts, seeds/parts)
		})
	}
}

// swarmLimits are the faults of a seed. Every third loses up to half and corrupts; the others lose
// up to 30% and are held to the law. Of those some have neither crash nor change of address.
func swarmLimits(seed uint64) simnet.PlanLimits {
	limits := simnet.PlanLimits{Until: 8 * time.Second}
	if seed%20 == 0 {
		limits.Until = 40 * time.Second
	}
	if seed%3 != 0 {
		limits.MaxLoss, limits.MaxCorrupt, limits.MaxDelay = 0.3, -1, 500*time.Millisecond
	}
	if seed%3 == 1 {
		limits.MaxPartition, limits.MaxRebinds = 3*time.Second, -1
	}
	return limits
}

func runSwarm(t *testing.T, first, seeds uint64) {
	ends, relayed, lawful := map[Reason]int{}, 0, 0
	for seed := first; seed < first+seeds; seed++ {
		s := newParty(seed, swarmLimits(seed), partyGuests(seed))
		if err := s.run(); err != nil {
			t.Fatalf("seed=%d: %v\n%s", seed, err, simnet.Report(seed, s.plan))
		}
		for r, n := range s.ends {
			ends[r] += n
		}
		relayed += s.relayed
		if !s.lenient {
			lawful++
		}
	}
	t.Logf("%d seeds, %d held to the law, %d packages at servers, ends: %v", seeds, lawful, relayed, ends)
}

// T20: the same seed gives the same run to the bit, however many threads there are.
func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	threads := []int{1, 2, 16}
	for seed := range uint64(promise.Keeps(t, "T20", "relay", rounds(1000, 10_000))) {
		var hashes [2]uint64
		for i := range hashes {
			if seed%20 == 0 { // changing it stops the world, which costs more than a run
				runtime.GOMAXPROCS(threads[(int(seed/20)+i)%3])
			}
			s := newParty(seed, simnet.PlanLimits{Until: 2 * time.Second}, 3)
			s.net.After(3*time.Second, "shutdown", func() {
				if s.server.Node() != nil {
					s.mux.Shutdown(s.server.Now(), "over")
					s.server.Poke()
				}
			})
			if err := s.net.Run(4 * time.Second); err != nil {
				t.Fatalf("seed=%d: %v", seed, err)
			}
			hashes[i] = s.net.Hash()
		}
		if hashes[0] != hashes[1] {
			t.Fatalf("seed=%d: two runs differ", seed)
		}
	}
}
