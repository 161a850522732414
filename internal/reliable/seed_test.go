package reliable

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"parley/internal/promise"
)

var seedFlag = flag.Uint64("seed", 0, "run the random tests with this seed only (0: the fixed seeds of the gate)")

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// soak reports whether the counts of the nightly tier are wanted.
func soak() bool { return os.Getenv("PARLEY_SOAK") != "" }

// tier picks a count: quick under -short, the gate's with PARLEY_PR and a sixteenth of it without, or the nightly one.
func tier(quick, gate, night int) int {
	switch {
	case soak():
		return night
	case testing.Short():
		return quick
	case !promise.Full():
		return max(quick, gate/16)
	}
	return gate
}

// eachSeed runs f for n seeds, or for the one of the flag.
func eachSeed(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	t.Helper()
	if *seedFlag != 0 {
		f(t, *seedFlag)
		return
	}
	for seed := range uint64(n) {
		f(t, seed+1)
		if t.Failed() {
			t.Fatalf("seed=%d failed; replay with -run '^%s$' -seed %d", seed+1, t.Name(), seed+1)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
