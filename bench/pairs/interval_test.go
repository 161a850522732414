package main

import "testing"

// Order statistics of the interval of a median, as tables have them: with 20 values the 6th and the 15th, with 6 all.
func TestInterval(t *testing.T) {
	for _, tt := range []struct{ n, low, high int }{{6, 1, 6}, {10, 2, 9}, {20, 6, 15}, {40, 14, 27}} {
		var x []float64
		for i := range tt.n {
			x = append(x, float64(tt.n-i))
		}
		m, low, high := interval(x)
		if int(low) != tt.low || int(high) != tt.high || m != float64(tt.n+1)/2 {
			t.Errorf("of %d: median %v, from %v to %v; want %v, %d to %d", tt.n, m, low, high, float64(tt.n+1)/2, tt.low, tt.high)
		}
	}
}

func TestFigures(t *testing.T) {
	x, err := benchmarkFigure("goos: linux\nBenchmarkHubTick-2  300  123 ns/op  1.25 cpu-p50-ms\n", "cpu-p50-ms")
	if err != nil || x != 1.25 {
		t.Errorf("%v, %v", x, err)
	}
	o := &options{work: "W3", peer: "relay", metric: "each"}
	x, err = workFigure([]byte(`{"samples":[{"work":"W3","peer":"relay unreliable","case":"1000","figures":{"each":9}},{"work":"W3","peer":"relay","case":"1000","figures":{"each":7}}]}`), o)
	if err != nil || x != 7 {
		t.Errorf("%v, %v", x, err)
	}
}
