package core

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
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

// rounds returns the count of turns of a random loop: the N tier under PARLEY_SOAK=1, a
// hundredth of the PR tier under -short, and a fiftieth of it under -race, which is some
// fifteen times slower and has nothing to find in code without goroutines. A plain run
// has a twentieth, the gate (PARLEY_PR=1) the full count.
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
		return plain / 100
	case underRace:
		return plain / 50
	case os.Getenv("PARLEY_PR") != "":
		return pr
	}
	return plain
}

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
