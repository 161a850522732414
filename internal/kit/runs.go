package kit

import (
	"fmt"
	"runtime"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/promise"
	"parley/simnet"
)

// Parts runs f for the seeds 1 to n in four parallel parts, or for the flag's alone.
func Parts(t *testing.T, n int, f func(t *testing.T, first, seeds uint64)) {
	if seed := chance.Flag(); seed != 0 {
		f(t, seed, 1)
		return
	}
	const parts = 4
	for i := range uint64(parts) {
		t.Run(fmt.Sprintf("part %d", i+1), func(t *testing.T) {
			t.Parallel()
			f(t, 1+i*uint64(n)/parts, uint64(n)/parts)
		})
	}
}

// SameRun is T20: the same seed gives the same run to the bit, however many threads there are. run returns the network
// after a run of a few seconds.
func SameRun(t *testing.T, part string, run func(seed uint64) (*simnet.Network, error)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	threads := []int{1, 2, 16}
	for seed := range uint64(promise.Keeps(t, "T20", part, max(Tier(20, 1000, 10_000), 5))) {
		var hashes [2]uint64
		for i := range hashes {
			if seed%20 == 0 { // changing it stops the world, which costs more than a run
				runtime.GOMAXPROCS(threads[(int(seed/20)+i)%3])
			}
			net, err := run(seed)
			if err != nil {
				t.Fatalf("seed=%d: %v", seed, err)
			}
			hashes[i] = net.Hash()
		}
		if hashes[0] != hashes[1] {
			t.Fatalf("seed=%d: two runs differ", seed)
		}
	}
}

// Soak is T22: a second of delay each way, 100 ms of jitter, a quarter of all datagrams lost and a quarter doubled: a
// quarter of a simulated hour in the gate, 24 hours in a soak. run is a run of 16 clients under the plan; it needs as many
// steps as Limits{Steps: 1 << 40} allows.
func Soak(t *testing.T, part string, run func(seed uint64, plan simnet.Plan) error) {
	seconds := promise.Keeps(t, "T22", part, Tier(60, 900, 24*3600))
	plan, err := simnet.ParsePlan(fmt.Sprintf("link *>* delay=1s jitter=100ms loss=0.25 dup=0.25\nat %ds link *>* delay=10ms\ncalm %ds", seconds, seconds))
	if err != nil {
		t.Fatal(err)
	}
	t.Log("seed=22")
	if err := run(22, plan); err != nil {
		t.Fatalf("seed=22: %v", err)
	}
}
