package core

import (
	"fmt"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// T22: a second of delay each way, 100 ms of jitter, a quarter of all datagrams lost and a quarter doubled, for 16
// clients: a quarter of a simulated hour in the gate, 24 hours in a soak. Nothing breaks the law of the swarm.
func TestSoak(t *testing.T) {
	seconds := promise.Keeps(t, "T22", "stamp", kit.Tier(60, 900, 24*3600))
	plan, err := simnet.ParsePlan(fmt.Sprintf("link *>* delay=1s jitter=100ms loss=0.25 dup=0.25\nat %ds link *>* delay=10ms\ncalm %ds", seconds, seconds))
	if err != nil {
		t.Fatal(err)
	}
	t.Log("seed=22")
	s := newPlanned(22, plan, 16)
	s.net.SetLimits(simnet.Limits{Steps: 1 << 40})
	if err := s.run(); err != nil {
		t.Fatalf("seed=22: %v", err)
	}
	t.Logf("%d simulated seconds, ends: %v", seconds, s.reasons)
}
