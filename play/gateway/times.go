package gateway

import (
	"math/bits"
	"time"
)

// Times is a histogram of durations, with an error of at most 1/16. Its size does not depend on
// their number. The zero value is empty.
type Times struct{ counts [384]uint32 }

// bucketOf counts in steps of 1,024 ns up to 32 of them, and of a sixteenth of a power of two
// beyond; what takes more than a minute is a minute.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0)) >> 10
	if v < 32 {
		return int(v)
	}
	e := bits.Len64(v) - 5
	return min(e*16+int(v>>e), len(Times{}.counts)-1)
}

// bucketEnd is the longest time of a bucket.
func bucketEnd(i int) time.Duration {
	if i < 32 {
		return time.Duration(i+1)<<10 - 1
	}
	e := i/16 - 1
	return time.Duration(i%16+17)<<(10+e) - 1
}

func (t *Times) add(d time.Duration) { t.counts[bucketOf(d)]++ }

// Count returns the number of durations.
func (t *Times) Count() (n uint64) {
	for _, c := range t.counts {
		n += uint64(c)
	}
	return n
}

// Since returns the durations that were added since an earlier copy of t.
func (t Times) Since(earlier Times) Times {
	for i := range t.counts {
		t.counts[i] -= earlier.counts[i]
	}
	return t
}

// Quantile returns the duration that a share of all durations, from 0 to 1, did not exceed. It is
// 0 if t is empty.
func (t *Times) Quantile(share float64) time.Duration {
	n := t.Count()
	if n == 0 {
		return 0
	}
	rank := min(uint64(share*float64(n)), n-1)
	for i, c := range t.counts {
		if uint64(c) > rank {
			return bucketEnd(i)
		}
		rank -= uint64(c)
	}
	return bucketEnd(len(t.counts) - 1)
}
