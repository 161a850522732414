package core

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// T22: a second of delay each way, 100 ms of jitter, a quarter of all datagrams lost and a quarter doubled, for 16
// clients, two at a server: a quarter of a simulated hour in the gate, 24 hours in a soak. Nothing is lost, doubled or out of
// order. A packet that was lost several times in a row over two seconds of round trip is tried again within a minute.
func TestSoak(t *testing.T) {
	seconds := promise.Keeps(t, "T22", "replica", kit.Tier(60, 900, 24*3600))
	plan, err := simnet.ParsePlan(fmt.Sprintf("link *>* delay=1s jitter=100ms loss=0.25 dup=0.25\nat %ds link *>* delay=10ms\ncalm %ds", seconds, seconds))
	if err != nil {
		t.Fatal(err)
	}
	kit.Seeds(t, 8, func(t *testing.T, seed uint64) {
		if _, ended, err := swarmPlan(t, seed, false, plan, time.Minute); err != nil || ended > 0 {
			t.Errorf("seed=%d: %d handshakes were forgotten, %v", seed, ended, err)
		}
	})
}
