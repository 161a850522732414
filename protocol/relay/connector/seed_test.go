package connector

import (
	"flag"
	"math/rand/v2"
	"testing"

	"parley/internal/shell/shelltest"
)

var seedFlag = flag.Uint64("seed", 0xc0de, "seed of the random tests")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t *testing.T) *rand.Rand {
	t.Logf("seed=%d", *seedFlag)
	return rand.New(rand.NewPCG(*seedFlag, 0))
}

var rounds = shelltest.Rounds

const underRace = shelltest.Race
