package core

import (
	"testing"
	"time"

	"parley/internal/kit"
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
	kit.Parts(t, promise.Keeps(t, "T21 T28", "relay", kit.Rounds(2000, 100_000)), runSwarm)
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

// T20: the same seed gives the same run to the bit.
func TestSameSeedSameRun(t *testing.T) {
	kit.SameRun(t, "relay", func(seed uint64) (*simnet.Network, error) {
		s := newParty(seed, simnet.PlanLimits{Until: 2 * time.Second}, 3)
		s.net.After(3*time.Second, "shutdown", func() {
			if s.server.Node() != nil {
				s.mux.Shutdown(s.server.Now(), "over")
				s.server.Poke()
			}
		})
		return s.net, s.net.Run(4 * time.Second)
	})
}

// T22: nothing breaks the law of the swarm in a soak.
func TestSoak(t *testing.T) {
	kit.Soak(t, "relay", func(seed uint64, plan simnet.Plan) error {
		s := newPlanned(seed, plan, 16)
		s.net.SetLimits(simnet.Limits{Steps: 1 << 40})
		return s.run()
	})
}
