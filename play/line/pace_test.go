package line

import "testing"

// A server whose ticks are faster is found out. One that is behind, a log-in that came late, and a client that was asleep are not.
func TestPace(t *testing.T) {
	const rate = 20
	for _, tt := range []struct {
		name     string
		tick     func(now float64) float64 // the tick that comes at a time, in seconds
		now      func(now float64) float64 // and the client's
		every    float64                   // messages come so often, in seconds
		from, by float64                   // found out between these times, 0 for never
	}{
		{"30 a second", func(s float64) float64 { return 1000 + 30*s }, nil, .05, 9, 11},
		{"50 a second", func(s float64) float64 { return 1000 + 50*s }, nil, .05, 3, 4},
		{"50 a second, seldom", func(s float64) float64 { return 1000 + 50*s }, nil, 2, 3, 6},
		{"as many", func(s float64) float64 { return 1000 + rate*s }, nil, .05, 0, 0},
		{"fewer", func(s float64) float64 { return 1000 + 10*s }, nil, .05, 0, 0},
		{"a log-in that came 4 s late", func(s float64) float64 { return 1080 + rate*s }, nil, .05, 0, 0},
		{"a client that slept for 8 s", func(s float64) float64 { return 1000 + rate*s }, func(s float64) float64 {
			if s > 10 {
				s -= 8
			}
			return 1000 + rate*s
		}, .05, 0, 0},
		{"a stream that stood still for 8 s", func(s float64) float64 {
			if s > 10 && s < 18 {
				s = 10
			}
			return 1000 + rate*s
		}, nil, .05, 0, 0},
	} {
		p := pace{rate: rate}
		found := 0.
		for s := 0.; s < 60 && found == 0; s += tt.every {
			now := 1000 + rate*s
			if tt.now != nil {
				now = tt.now(s)
			}
			if p.runsAhead(uint64(tt.tick(s)), uint64(now)) {
				found = s
			}
		}
		if found < tt.from || found > tt.by {
			t.Errorf("%s: found out after %.1f s, want %g to %g", tt.name, found, tt.from, tt.by)
		}
	}
}
