package connector

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed one")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t *testing.T) *rand.Rand {
	seed := firstSeed()
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func firstSeed() uint64 {
	if *seedFlag == 0 {
		return 0xc0de
	}
	return *seedFlag
}

// rounds returns the count of turns of a random loop: the N tier under PARLEY_SOAK=1, a
// hundredth of the PR tier under -short, and a fiftieth of it under -race, which is some
// fifteen times slower; a plain run has a twentieth, the gate (PARLEY_PR=1) the full count.
func rounds(pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short():
		return max(pr/100, 1)
	case underRace:
		return max(pr/50, 1)
	case os.Getenv("PARLEY_PR") == "":
		return max(pr/20, 1)
	}
	return pr
}
