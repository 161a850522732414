package metric

import (
	"math/bits"
	"time"
)

// bounds are the upper ends of the buckets of Times.
var bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Times is a histogram of durations in 15 numbers. The zero value is empty.
type Times struct {
	counts [len(bounds) + 1]uint64 // the last counts durations beyond all bounds
	sum    uint64                  // ns
}

// first maps the bit length of a duration in nanoseconds to the first bucket that the duration can be in. At most two
// bounds are then left to compare.
var first = func() (of [65]uint8) {
	for n := 1; n < len(of); n++ {
		least := uint64(1) << (n - 1)
		for int(of[n]) < len(bounds) && uint64(bounds[of[n]]) < least {
			of[n]++
		}
	}
	return of
}()

// Add counts a duration. A negative one counts as zero.
func (t *Times) Add(d time.Duration) {
	n := uint64(max(d, 0))
	i := int(first[bits.Len64(n)])
	for i < len(bounds) && n > uint64(bounds[i]) {
		i++
	}
	t.counts[i]++
	t.sum += n
}

// Count returns the number of durations.
func (t *Times) Count() (n uint64) {
	for _, c := range t.counts {
		n += c
	}
	return n
}

// Histogram returns the histogram in the form of Prometheus: the number of durations, their sum in seconds, and for each
// bound in seconds how many were not above it.
func (t Times) Histogram() (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		count += t.counts[i]
		buckets[bound.Seconds()] = count
	}
	return count + t.counts[len(bounds)], time.Duration(t.sum).Seconds(), buckets
}
