package udp

import (
	"math/rand/v2"
	"os"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/promise"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(loadVariable) != "" {
		loadMain() // this process is the load of a benchmark
		return
	}
	goleak.VerifyTestMain(m)
}

// loadVariable is set in the environment of a process that shall be a load.
const loadVariable = "PARLEY_UDP_LOAD"

// eachSeed runs f with each seed of the fixed list, or with that of -seed.
// PARLEY_SOAK=1 makes the list ten times as long. Without PARLEY_PR and under -short it has a quarter.
func eachSeed(t *testing.T, count int, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	switch {
	case os.Getenv("PARLEY_SOAK") == "1":
		count *= 10
	case testing.Short() || !promise.Full():
		count = (count + 3) / 4
	}
	for _, seed := range chance.Seeds(count) {
		runSeed(t, seed, f)
	}
}

// seeded returns a source for a test that runs once.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(chance.Seed(t, 1), 0x9E3779B97F4A7C15))
}

func runSeed(t *testing.T, seed uint64, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("seed=%d", seed)
		}
	}()
	f(t, rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)))
}
