package kit

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"parley/internal/patient"
)

// Spread runs a part of a random loop of n turns on each core, with a source of its own. It is for code without goroutines.
func Spread(t testing.TB, n int, part func(r *rand.Rand, n int)) {
	parts, seed := runtime.GOMAXPROCS(0), Seed(t)
	var group sync.WaitGroup
	for i := range parts {
		group.Go(func() { part(rand.New(rand.NewPCG(seed, uint64(i))), n*(i+1)/parts-n*i/parts) })
	}
	patient.Done(group.Wait)
}
