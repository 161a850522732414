package core

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"parley/internal/shell/shelltest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed one")

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = 0x4ea1
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

var rounds, tier = shelltest.Rounds, shelltest.Tier

// spread runs a part of a random loop on each core, with a source of its own, whose seed it
// prints: part i does its share of n turns. It is for code without goroutines, whose tests are
// pure arithmetic.
func spread(t *testing.T, n int, part func(r *rand.Rand, n int)) {
	parts := runtime.GOMAXPROCS(0)
	seed := newRand(t).Uint64()
	var group sync.WaitGroup
	for i := range parts {
		group.Go(func() { part(rand.New(rand.NewPCG(seed, uint64(i))), n*(i+1)/parts-n*i/parts) })
	}
	group.Wait()
}
