package main

import "slices"

// interval returns the median, and the two order statistics between which the true one lies with a confidence of at least
// 95%, whatever the distribution: how many of n ratios are below it is binomial with one half.
func interval(x []float64) (median, low, high float64) {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	median = (x[(n-1)/2] + x[n/2]) / 2
	below, k := tail(n), 0
	for k+1 < n/2 && 2*below(k+1) <= 0.05 {
		k++
	}
	return median, x[k], x[n-1-k]
}

// tail returns the chance that at most k−1 of n fall below the median, as a function of k.
func tail(n int) func(k int) float64 {
	each := make([]float64, n+1) // the chance of exactly i
	each[0] = 1
	for range n {
		for i := n; i > 0; i-- {
			each[i] = (each[i] + each[i-1]) / 2
		}
		each[0] /= 2
	}
	return func(k int) float64 {
		sum := 0.0
		for _, p := range each[:k+1] {
			sum += p
		}
		return sum
	}
}
