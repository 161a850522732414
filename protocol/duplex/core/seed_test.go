package core

import (
	"flag"
	"math/rand/v2"
	"testing"

	"parley/internal/shell/shelltest"
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

var rounds, tier = shelltest.Rounds, shelltest.Tier

// newRandF returns a source that is always the same, for the seeds of a fuzzer.
func newRandF() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
