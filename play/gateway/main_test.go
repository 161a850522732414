package gateway

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"parley/internal/kit/chance"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6") // those that run beside others wait most of the time
	goleak.VerifyTestMain(m)
}

// raced returns n, or few under the race detector. It is for tests in virtual time: that is one goroutine, in which the detector
// finds nothing and is ten times as slow.
func raced(n, few int) int {
	if chance.Race {
		return few
	}
	return n
}
