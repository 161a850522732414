package gateway

import (
	"slices"
	"time"
)

// lately is a ring of how long the newest ticks of a room took. It is a kilobyte, which a room has from its first tick on.
type lately struct {
	took [latelyTicks]uint32 // µs
	n    int                 // so far
}

func (l *lately) add(d time.Duration) {
	l.took[l.n%latelyTicks] = uint32(min(max(d.Microseconds(), 0), 1<<32-1))
	l.n++
}

// Lately is how the newest ticks of a room went, at most 256 of them.
type Lately struct{ took []uint32 }

// Quantile returns the duration that a share of the ticks, from 0 to 1, did not exceed. It is 0 without ticks.
func (l *Lately) Quantile(share float64) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return time.Duration(l.took[min(int(share*float64(len(l.took))), len(l.took)-1)]) * time.Microsecond
}

// Lately returns how the newest ticks went. It copies a kilobyte: to sort is the caller's, where no tick waits for it. Call it in Do.
func (r *Room) Lately() Lately {
	if r.lately == nil {
		return Lately{}
	}
	return Lately{slices.Clone(r.lately.took[:min(r.lately.n, latelyTicks)])}
}
