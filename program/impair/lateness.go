package impair

import (
	"fmt"
	"math/bits"
	"time"
)

// Lateness is how much later than due the proxy sent: a histogram whose steps are an
// eighth of a power of two, so that a quantile is exact to an eighth.
type Lateness struct {
	counts [64 * eighths]uint64
	total  uint64
	max    time.Duration
}

const eighths = 8

func (l *Lateness) add(d time.Duration) {
	d = max(d, 0)
	l.total++
	l.max = max(l.max, d)
	l.counts[bucket(d)]++
}

// bucket returns the step of a time: below eight nanoseconds each has its own.
func bucket(d time.Duration) int {
	v := uint64(d)
	if v < eighths {
		return int(v)
	}
	power := bits.Len64(v) - 1 // at least 3
	return (power-2)*eighths + int(v>>(power-3)&(eighths-1))
}

// upper returns the end of a step.
func upper(bucket int) time.Duration {
	if bucket < eighths {
		return time.Duration(bucket)
	}
	power := bucket/eighths + 2
	return time.Duration(uint64(eighths+bucket%eighths+1)<<(power-3) - 1)
}

// Quantile returns the lateness that a share q of all sends did not exceed.
func (l *Lateness) Quantile(q float64) time.Duration {
	want := uint64(q * float64(l.total))
	sum := uint64(0)
	for i, n := range l.counts {
		if sum += n; n > 0 && sum >= want {
			return min(upper(i), l.max)
		}
	}
	return l.max
}

// Max returns the greatest lateness.
func (l *Lateness) Max() time.Duration { return l.max }

// Total returns the number of measured sends.
func (l *Lateness) Total() uint64 { return l.total }

// String returns a summary in one line.
func (l *Lateness) String() string {
	if l.total == 0 {
		return "nothing sent yet"
	}
	round := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v of %d", round(l.Quantile(.5)), round(l.Quantile(.99)), round(l.max), l.total)
}
