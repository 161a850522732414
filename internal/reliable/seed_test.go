package reliable

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"parley/internal/promise"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// soak reports whether the counts of the nightly tier are wanted.
func soak() bool { return os.Getenv("PARLEY_SOAK") != "" }

// tier picks a count: quick under -short, the gate's with PARLEY_PR and a sixteenth of it without, or the nightly one.
func tier(quick, gate, night int) int {
	switch {
	case soak():
		return night
	case testing.Short():
		return quick
	case !promise.Full():
		return max(quick, gate/16)
	}
	return gate
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
