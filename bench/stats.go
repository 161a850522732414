package main

import (
	"math"
	"slices"
	"time"
)

// quantile returns the value that a share q of all is not above, by the nearest rank, or 0
// if there are none. The list is sorted.
func quantile[T time.Duration | float64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(min(rank, len(sorted)), 1)-1]
}

// median returns the middle one, or the mean of the two in the middle; 0 of none.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	switch n := len(x); {
	case n == 0:
		return 0
	case n%2 == 1:
		return x[n/2]
	default:
		return (x[n/2-1] + x[n/2]) / 2
	}
}

// Spread is a figure over the rounds of a run.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Rounds int     `json:"rounds"`
}

func spreadOf(x []float64) Spread {
	if len(x) == 0 {
		return Spread{}
	}
	return Spread{median(x), slices.Min(x), slices.Max(x), len(x)}
}

// millis returns a time in milliseconds.
func millis(d time.Duration) float64 { return d.Seconds() * 1000 }
