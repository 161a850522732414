// Package chance has the seeds of random tests.
package chance

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed ones")

// Flag returns the seed of the flag, 0 if it is not set.
func Flag() uint64 { return *seedFlag }

// Seed returns the seed of the flag, or else the fixed one, and prints it.
func Seed(t testing.TB, fixed uint64) uint64 {
	if *seedFlag != 0 {
		fixed = *seedFlag
	}
	t.Logf("seed=%d", fixed)
	return fixed
}

// Rand returns the source of a random test, and prints its seed.
func Rand(t testing.TB, fixed uint64) *rand.Rand { return rand.New(rand.NewPCG(Seed(t, fixed), 0)) }

// Seeds returns the seeds 1 to n, or that of the flag alone.
func Seeds(n int) []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i) + 1
	}
	return list
}
