package core

import (
	"flag"
	"math/rand/v2"
	"testing"

	"parley/internal/shell/shelltest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed one")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = 0x5eed
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rounds is tier for a count of which a plain run has a twentieth.
func rounds(pr, soak int) int { return shelltest.Rounds(pr, soak) }

// What the random tests of all dialects go by.
var tier = shelltest.Tier

const underRace = shelltest.Race
