package kit

import (
	"flag"
	"math/rand/v2"
	"testing"

	"parley/internal/shell/shelltest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the fixed ones")

// Race reports that the race detector is on.
const Race = shelltest.Race

// Tier returns the number of rounds of a random test: see shelltest.Tier.
func Tier(plain, pr, soak int) int { return shelltest.Tier(plain, pr, soak) }

// Rounds is Tier with a plain count of a twentieth of pr.
func Rounds(pr, soak int) int { return shelltest.Rounds(pr, soak) }

// Seed returns the seed of a random test and prints it: the flag's, or a fixed one.
func Seed(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = 0x5eed
	}
	t.Logf("seed=%d", seed)
	return seed
}

// Rand returns the source of a random test and prints its seed.
func Rand(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(Seed(t), 0)) }

// Seeds runs f for the seeds 1 to n, or for the flag's alone. It stops at the first that fails, and says how to repeat it.
func Seeds(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	t.Helper()
	first, last := uint64(1), uint64(n)
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		f(t, seed)
		if t.Failed() {
			t.Fatalf("seed=%d failed; repeat it with -run '^%s$' -seed %d", seed, t.Name(), seed)
		}
	}
}
