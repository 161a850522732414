package reliable

import "time"

// early decides how many early resends (copies) a small reliable packet gets, and keeps
// them within their share of the bandwidth. The zero value sends none.
type early struct {
	// The bytes of first transmissions and their rate, measured over rateSpan.
	sent    int64
	rateEnd time.Duration
	rate    int64

	// The token bucket of bytes that copies may use, filled at a share of that rate.
	credit int64
	filled time.Duration

	plain   uint8 // copies of each small unordered packet
	ordered uint8 // copies of each small ordered packet
}

// step adds one copy when the loss of the round trip, in thousandths, reaches from, and
// removes it when the loss falls below until. The gap keeps a wavering estimate from
// switching back and forth.
type step struct{ from, until uint32 }

var (
	// As loss of one direction: one copy from 1% until 0.5%, two from 7% until 6%.
	plainSteps = []step{{20, 10}, {135, 116}}

	// A lost ordered packet delays all packets behind it for a round trip: five at a
	// game's rate. So it gets its copies at a lower loss: one from 1% until 0.5%, two
	// from 3% until 2.5%, three from 8% until 7%.
	orderedSteps = []step{{20, 10}, {59, 49}, {154, 135}}
)

const (
	rateSpan = 250 * time.Millisecond
	// earlyBurstBytes is the size of the bucket: one packet with its copies a hundred
	// times a second comes nowhere near it, a burst of bulk data does.
	earlyBurstBytes = 4096
)

// update sets the number of copies from the loss in thousandths.
func (e *early) update(permille uint32) {
	e.plain = climb(plainSteps, e.plain, permille)
	e.ordered = climb(orderedSteps, e.ordered, permille)
}

// climb returns the number of steps that a loss reaches, from the present number at.
func climb(steps []step, at uint8, permille uint32) uint8 {
	for int(at) < len(steps) && permille >= steps[at].from {
		at++
	}
	for at > 0 && permille < steps[at-1].until {
		at--
	}
	return at
}

// copies returns how many copies a small packet gets.
func (e *early) copies(ordered bool) uint8 {
	if ordered {
		return e.ordered
	}
	return e.plain
}

// noteSent counts n bytes that go out for the first time.
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

const maxCopySpacing = 8 * time.Millisecond

// copySpacing is how long after a packet its copy follows: an eighth of the
// round trip, so that it comes well before a resend would, and a few
// milliseconds, so that a short burst of loss does not take both.
func copySpacing(rtt time.Duration) time.Duration {
	return min(max(rtt/8, 3*time.Millisecond), maxCopySpacing)
}
