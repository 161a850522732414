package reliable

import "time"

// roundTrip smooths round trips as RFC 6298 does. The zero value knows nothing.
type roundTrip struct {
	smoothed time.Duration
	variance time.Duration
	least    time.Duration // the least sample so far: what the path can do
}

// sample takes one measured round trip. Samples that no path can have made are
// bounded or, if not positive, left out.
func (r *roundTrip) sample(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if r.least == 0 || d < r.least {
		r.least = d
	}
	d = min(max(d, minRTT), maxRTT)
	if r.smoothed == 0 {
		r.smoothed, r.variance = d, d/2
		return true
	}
	r.variance += (abs(r.smoothed-d) - r.variance) / 4
	r.smoothed += (d - r.smoothed) / 8
	return true
}

// rto returns the delay after which an unacknowledged packet is resent:
// "SRTT + max(4·RTTVAR, 10 ms), at least 20 ms and at most 2 s" (replica, Acks
// and resends); the numbers are the configuration's.
func (r *roundTrip) rto(c *SendConfig) time.Duration {
	if r.smoothed == 0 {
		return c.FirstRTO
	}
	return min(max(r.smoothed+max(4*r.variance, c.VarFloor), c.MinRTO), c.MaxRTO)
}

func abs(d time.Duration) time.Duration {
	if d < 0 {
		return -d
	}
	return d
}
