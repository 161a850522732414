package blackbox

import (
	"slices"
	"testing"
	"time"
)

// spins is how the machine treats a thread that does nothing but count, at the pace of a server's
// ticks: how long so much counting takes that takes length in most cases. A virtual machine is not
// told when its host runs another, so what a tick takes is to be held against that.
func spins(tb testing.TB, ticks int, length time.Duration) (p50, p99 time.Duration) {
	tb.Helper()
	const trial = 1 << 20
	rate := time.Duration(1 << 62)
	for range 20 { // the best of some
		rate = min(rate, count(trial))
	}
	n := int(float64(trial) * float64(length) / float64(rate))
	clock := time.NewTicker(time.Second / 20)
	defer clock.Stop()
	var took []time.Duration
	for range ticks {
		<-clock.C
		took = append(took, count(n))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

var counted uint64

func count(n int) time.Duration {
	began := time.Now()
	for i := range n {
		counted += counted*uint64(i) + 1
	}
	return time.Since(began)
}
