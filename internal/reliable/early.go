package reliable

import "time"

// early decides how many copies of a small reliable packet go out ahead of
// loss, and keeps them within their share. The zero value sends none.
type early struct {
	copies uint8 // 0, 1 or 2 for each small packet

	// The bucket of bytes that copies may use, and the rate that it is filled
	// from: what is being sent, measured over rateSpan.
	credit  int64
	filled  time.Duration
	sent    int64
	rate    int64
	rateEnd time.Duration
}

// Thresholds on the loss of the round trip, in thousandths. For one direction
// they are 1% and 7% to begin, 0.5% and 6% to end: the gap keeps an estimate
// that wavers from switching back and forth.
const (
	oneCopyFrom  = 20
	oneCopyUntil = 10
	twoCopyFrom  = 135
	twoCopyUntil = 116

	rateSpan = 250 * time.Millisecond
	// earlyBurstBytes is what the bucket holds: one packet with its copies a
	// hundred times a second comes nowhere near it, a burst of bulk does.
	earlyBurstBytes = 4096
)

// update sets the number of copies from the loss in thousandths.
func (e *early) update(permille uint32) {
	switch {
	case permille >= twoCopyFrom:
		e.copies = 2
	case permille >= oneCopyFrom && (e.copies < 2 || permille < twoCopyUntil):
		e.copies = 1
	case permille < oneCopyUntil:
		e.copies = 0
	}
}

// noteSent counts what goes out for the first time.
func (e *early) noteSent(at time.Duration, n int) {
	if at >= e.rateEnd {
		span := rateSpan + at - e.rateEnd
		if e.rateEnd == 0 {
			span = rateSpan
		}
		e.rate = e.sent * int64(time.Second) / int64(span)
		e.sent = 0
		e.rateEnd = at + rateSpan
	}
	e.sent += int64(n)
}

// spend takes n bytes from the bucket, or says that there are too few.
func (e *early) spend(at time.Duration, n int, c *SendConfig) bool {
	rate := max(int64(c.EarlyBytes), e.rate*int64(c.EarlyPercent)/100)
	elapsed := min(at-e.filled, time.Second)
	e.credit = min(e.credit+rate*int64(elapsed)/int64(time.Second), earlyBurstBytes)
	e.filled = at
	if e.credit < int64(n) {
		return false
	}
	e.credit -= int64(n)
	return true
}

// copySpacing is how long after a packet its copy follows: an eighth of the
// round trip, so that it comes well before a resend would, and a few
// milliseconds, so that a short burst of loss does not take both.
func copySpacing(rtt time.Duration) time.Duration {
	return min(max(rtt/8, 3*time.Millisecond), 8*time.Millisecond)
}
