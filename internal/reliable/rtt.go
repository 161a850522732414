package reliable

import "time"

// roundTrip smooths round trips as RFC 6298 does. The zero value knows nothing.
type roundTrip struct {
	smoothed time.Duration
	variance time.Duration
	least    time.Duration // the least sample so far: what the path can do

	// What is known from acknowledgements that Karn's rule forbids to sample: the time
	// from a packet's first transmission to its acknowledgement is no less than a round
	// trip.
	doubtful uint8         // such acknowledgements in a row, with no sample between
	atMost   time.Duration // the least of those times
}

// sample takes one measured round trip. Impossible samples are bounded or, if not
// positive, left out.
func (r *roundTrip) sample(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if r.least == 0 || d < r.least {
		r.least = d
	}
	r.doubtful, r.atMost = 0, 0
	d = min(max(d, minRTT), maxRTT)
	if r.smoothed == 0 {
		r.smoothed, r.variance = d, d/2
		return true
	}
	r.variance += (abs(r.smoothed-d) - r.variance) / 4
	r.smoothed += (d - r.smoothed) / 8
	return true
}

// doubt takes the time from the first transmission of a packet to its acknowledgement if
// that is no sample, as the packet was resent meanwhile.
func (r *roundTrip) doubt(d time.Duration) {
	if r.doubtful == 0 || d < r.atMost {
		r.atMost = d
	}
	r.doubtful = min(r.doubtful, 254) + 1
}

// twice is the newest packet that was sent twice and acknowledged once. Which transmission
// was acknowledged is unknown (Karn's rule) until the second acknowledgement comes. It shows
// that both arrived, and that the first acknowledgement was of the first transmission. So if
// the round trip has grown past the resend delay, and every packet is resent, one packet is
// enough to learn it.
type twice struct {
	number uint32 // its low bits
	took   uint32 // µs from its first transmission to its acknowledgement; 0 if there is none
}

// note takes a packet that was sent twice when it is acknowledged.
func (w *twice) note(n uint64, took time.Duration) {
	*w = twice{uint32(n), uint32(min(took, maxRTT).Microseconds())}
}

// sample returns how long the round trip of n was if it is acknowledged the second time.
func (w *twice) sample(n uint64) (time.Duration, bool) {
	if w.took == 0 || w.number != uint32(n) {
		return 0, false
	}
	took := time.Duration(w.took) * time.Microsecond
	*w = twice{}
	return took, true
}

// grown reports whether the round trip seems to have grown past the resend delay.
func (r *roundTrip) grown() bool { return r.doubtful >= manyDoubts }

// rto returns the delay after which an unacknowledged packet is resent:
// "SRTT + max(4·RTTVAR, 10 ms), at least 20 ms and at most 2 s" (replica, Acks
// and resends); the numbers are the configuration's.
func (r *roundTrip) rto(c *SendConfig) time.Duration {
	if r.smoothed == 0 {
		return c.FirstRTO
	}
	d := max(r.smoothed+max(4*r.variance, c.VarFloor), c.MinRTO)
	if r.grown() {
		// Everything is resent before its acknowledgement can come, and so nothing is
		// sampled: the round trip has grown past the resend delay. With a delay above the
		// least time that the packets took, the next one is not resent too soon, and gives
		// a sample.
		d = max(d, r.atMost+max(r.atMost/4, c.VarFloor))
	}
	return min(d, c.MaxRTO)
}

func abs(d time.Duration) time.Duration {
	if d < 0 {
		return -d
	}
	return d
}
