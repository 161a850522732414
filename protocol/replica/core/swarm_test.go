package core

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// swarmOf has peers with much patience, so that connections outlive the faults.
func swarmOf(foreign, bundles bool) kit.SwarmConfig {
	cfg := Config{Foreign: foreign, NoBundles: !bundles, Timeout: time.Minute}
	cfg.sending.GiveUpAfter = time.Minute
	d := dialect
	d.Server = func(now time.Time, seed uint64) kit.Server {
		return serverCore{NewMux(now, cfg, newShared(seed), kit.Key(seed))}
	}
	d.Client = func(now time.Time, seed uint64) kit.Client {
		return clientCore{NewClient(now, serverAddr, cfg, newShared(seed))}
	}
	c := kit.SwarmConfig{Dialect: d, Every: 100 * time.Millisecond, After: 5 * time.Second, Within: time.Minute, Large: 8000}
	if foreign {
		c.Large = 0
	}
	return c
}

// newSwarm is one seed: two clients that talk both ways and are cut off.
func newSwarm(seed uint64, foreign, bundles bool) *kit.Swarm {
	return swarmOf(foreign, bundles).New(seed, swarmPlan(seed), 2)
}

func swarmPlan(seed uint64) simnet.Plan {
	return simnet.RandomPlan(seed, kit.SwarmNames(2), simnet.PlanLimits{
		Until: 12 * time.Second, MaxPartition: 4 * time.Second, MaxDelay: 500 * time.Millisecond,
		MaxLoss: .3, MinMTU: 1300, MaxCrashes: -1, MaxRebinds: -1,
		MaxCorrupt: -1, // the checksum of UDP turns damage into loss
	})
}

// T21: whatever the network does, each connection's messages arrive as promised.
// Between our own peers order is exact with unreliable packets lost in between;
// with a foreign peer too, one ordered packet at a time. No connection ends but after a
// handshake: one that is cut off for longer than a server waits, and one of whose inits
// comes late, when the answer to the server's question is cut off for 2 s.
func TestSwarm(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run(fmt.Sprintf("foreign=%v", foreign), func(t *testing.T) {
			part, n := "replica", 2000
			if foreign {
				part, n = "replica, foreign peers", 500
			}
			n = promise.Keeps(t, "T21", part, kit.Tier(n/20, n, 20*n))
			ended := 0
			kit.Seeds(t, n, func(t *testing.T, seed uint64) {
				s := newSwarm(seed, foreign, seed%4 > 0)
				if err := s.Run(); err != nil {
					t.Errorf("seed=%d: %v\n%s", seed, err, simnet.Report(seed, s.Plan))
				}
				ended += s.Reasons[ReasonUnknown.String()]
				for reason := range s.Reasons {
					if reason != ReasonUnknown.String() && reason != ReasonReplaced.String() {
						t.Errorf("seed=%d: connections were lost: %v", seed, s.Reasons)
					}
				}
			})
			t.Logf("%d of %d handshakes were forgotten in a partition", ended, 2*n)
			if ended > n/20 {
				t.Errorf("%d of %d handshakes were forgotten", ended, 2*n)
			}
		})
	}
}

// T22: 16 clients, two at a server: nothing is lost, doubled or out of order, and no handshake is forgotten.
func TestSoak(t *testing.T) {
	kit.Soak(t, "replica", func(_ uint64, plan simnet.Plan) error {
		for seed := range uint64(8) {
			s := swarmOf(false, seed%4 > 0).New(seed, plan, 2)
			if err := s.Run(); err != nil || len(s.Reasons) > 0 {
				return fmt.Errorf("server %d: %v, ends: %v", seed, err, s.Reasons)
			}
		}
		return nil
	})
}

// T20: the same seed gives the same run.
func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	kit.SameRun(t, "replica", func(seed uint64) (*simnet.Network, error) {
		s := newSwarm(seed, seed%2 == 0, seed%4 > 0)
		return s.Net, s.Run()
	})
}

// A peer that has not agreed on bundles sees no difference: whether its server would or not, each datagram is the same to the byte, at the
// same time.
func TestPeersWithoutBundlesSeeNoDifference(t *testing.T) {
	kit.Seeds(t, kit.Tier(6, 30, 30), func(t *testing.T, seed uint64) {
		var hashes [2]uint64
		for i := range hashes {
			c := swarmOf(true, true)
			c.Dialect.Server = swarmOf(false, i == 0).Dialect.Server
			s := c.New(seed, swarmPlan(seed), 2)
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
			hashes[i] = s.Net.Hash()
		}
		if hashes[0] != hashes[1] {
			t.Errorf("the runs differ")
		}
	})
}
