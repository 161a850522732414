package reliable

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// soak reports whether the counts of the nightly tier are wanted.
func soak() bool { return os.Getenv("PARLEY_SOAK") != "" }

// all reports whether a table is wanted whole: in the gate and nightly.
func all() bool { return soak() || promise.Full() && !testing.Short() }

// tier picks a count: quick under -short, a quarter of that under the race detector too, as there is only one goroutine here, the gate's
// with PARLEY_PR and a fortieth of it without, or the nightly one.
func tier(quick, gate, night int) int {
	switch {
	case soak():
		return night
	case testing.Short() && chance.Race:
		return max(1, quick/4)
	case testing.Short():
		return quick
	case !promise.Full():
		return max(quick, gate/40)
	}
	return gate
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
