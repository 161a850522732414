package core

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed one")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = 0xd0b1e
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rounds returns the count of turns of a random loop: the N tier under
// PARLEY_SOAK=1, a hundredth of the PR tier under -short, and a fiftieth of it
// under -race, which is some fifteen times slower and has nothing to find in
// code without goroutines. A plain run has a twentieth, and the gate, with PARLEY_PR=1, the full count.
func rounds(pr, soak int) int {
	n := tier(pr, pr, soak)
	if n == pr && os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		return max(pr/20, 1)
	}
	return n
}

// tier is rounds for what takes too long for every run of the tests: the gate runs it once
// more with PARLEY_PR=1, which has the full count.
func tier(plain, pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short():
		return max(plain/100, 1)
	case underRace:
		return max(plain/50, 1)
	case os.Getenv("PARLEY_PR") != "":
		return pr
	}
	return plain
}

// newRandF returns a source that is always the same, for the seeds of a fuzzer.
func newRandF() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
