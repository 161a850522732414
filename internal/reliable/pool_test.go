package reliable

import (
	"math"
	"testing"
	"time"
)

// A round trip counts once for each packet that was acknowledged in time, and is as long as it was. What Karn's rule does not
// sample does not count.
func TestRoundTripsAreCounted(t *testing.T) {
	s := newSolo(t, SendConfig{})
	for _, trip := range []time.Duration{30 * time.Millisecond, 40 * time.Millisecond} {
		n := s.send(100)
		s.poll()
		s.now = s.now.Add(trip)
		s.ack(n)
		s.ack(n) // again: no sample
	}
	n := s.send(100)
	s.poll()
	s.wait(300 * time.Millisecond) // it is resent
	s.ack(n)
	count, sum, buckets := s.pool.RoundTrips.Histogram()
	if count != 2 || math.Abs(sum-.07) > 1e-9 || buckets[.025] != 0 || buckets[.05] != 2 {
		t.Errorf("%d round trips of %v s in all, %d within 25 ms and %d within 50 ms; want 2 of 0.07 s, none and 2", count, sum, buckets[.025], buckets[.05])
	}
}
