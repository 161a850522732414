package stamp

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed one")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = 0x57a3
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
