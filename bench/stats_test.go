package main

import (
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, tt := range []struct {
		name string
		of   []float64
		q    float64
		want float64
	}{
		{"of none", nil, .5, 0},
		{"of one, the least", []float64{7}, 0, 7},
		{"of one, the most", []float64{7}, 1, 7},
		{"the middle of a hundred", hundred, .5, 50},
		{"ninety-nine of a hundred", hundred, .99, 99},
		{"all of a hundred", hundred, 1, 100},
		{"none of a hundred", hundred, 0, 1},
		{"of three, p99 is the last", []float64{1, 2, 3}, .99, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.of, tt.q); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := quantile([]time.Duration{time.Second, time.Minute}, .5); got != time.Second {
		t.Errorf("the middle of two times is %v", got)
	}
}

func TestMediansDoNotDependOnOrder(t *testing.T) {
	for _, tt := range []struct {
		of   []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{9, 1, 4}, Spread{4, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9, 4}},
	} {
		if got := spreadOf(tt.of); got != tt.want {
			t.Errorf("%v: got %+v, want %+v", tt.of, got, tt.want)
		}
	}
}

func TestTheClockOfARoomGoesRound(t *testing.T) {
	for _, before := range []float64{0, 1, 4000, roomCycle - 1000} {
		x := clockNow() - before
		if x < 0 {
			x += roomCycle
		}
		got := millis(sinceClock(float64(float32(x))))
		// What the test itself takes is in it too, and a float32 has a thousandth.
		if got < before-0.002 || got > before+900 && before+900 < roomCycle {
			t.Errorf("what was %v ms ago seems to be %v ms ago", before, got)
		}
	}
}
