package kit

import (
	"math/rand/v2"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/shell/shelltest"
)

// Race reports that the race detector is on.
const Race = shelltest.Race

// Tier returns the number of rounds of a random test: see shelltest.Tier.
func Tier(plain, pr, soak int) int { return shelltest.Tier(plain, pr, soak) }

// Rounds is Tier with a plain count of a twentieth of pr.
func Rounds(pr, soak int) int { return shelltest.Rounds(pr, soak) }

// Seed returns the seed of a random test and prints it: the flag's, or a fixed one.
func Seed(t testing.TB) uint64 { return chance.Seed(t, 0x5eed) }

// Rand returns the source of a random test and prints its seed.
func Rand(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(Seed(t), 0)) }

// Seeds runs f for the seeds 1 to n, or for the flag's alone. It stops at the first that fails, and says how to repeat it.
func Seeds(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range chance.Seeds(n) {
		f(t, seed)
		if t.Failed() {
			t.Fatalf("seed=%d failed; repeat it with -run '^%s$' -seed %d", seed, t.Name(), seed)
		}
	}
}
