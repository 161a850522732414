package world

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"

	"parley/internal/kit/chance"
)

// Tests make thousands of worlds that live for some milliseconds; collecting
// them less often halves the time that this takes.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// newRand returns the source of a random test and prints how to repeat it.
func newRand(t testing.TB) *rand.Rand { return chance.Rand(t, 0x3017d) }

// notRaced skips a long test under the race detector: it is one goroutine, in which that finds nothing and is ten times as slow.
func notRaced(t *testing.T) {
	t.Helper()
	if chance.Race {
		t.Skip("one goroutine")
	}
}

// rounds returns the count of turns of a random loop: the N tier under
// PARLEY_SOAK=1, a hundredth of the PR tier under -short or -race, which has
// nothing to find in code without goroutines.
func rounds(pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short() || chance.Race:
		return max(1, pr/100)
	case os.Getenv("PARLEY_PR") == "":
		return max(1, pr/20)
	}
	return pr
}
