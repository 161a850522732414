package wire

import (
	"math/rand/v2"
	"os"
	"testing"

	"parley/internal/kit/chance"
)

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t *testing.T) *rand.Rand { return chance.Rand(t, 0x717e) }

// rounds returns the count of turns of a random loop: the N tier under
// PARLEY_SOAK=1, a hundredth of the PR tier under -short, and a fiftieth of it
// under -race, which is some fifteen times slower and has nothing to find in
// code without goroutines. A plain run has a fifth, and the gate, with PARLEY_PR=1, the full count.
func rounds(pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short():
		return pr / 100
	case chance.Race:
		return pr / 50
	case os.Getenv("PARLEY_PR") == "":
		return pr / 5
	}
	return pr
}
