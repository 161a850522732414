package reliable

import (
	"math"
	"time"
)

// early decides how many early resends (copies) a small reliable packet gets, and keeps
// them within their share of the bandwidth. The zero value sends none.
type early struct {
	// The bytes of first transmissions and their rate, measured over rateSpan.
	sent    uint32
	rate    uint32
	rateEnd time.Duration

	// The token bucket of bytes that copies may use, filled at a share of that rate.
	filled time.Duration
	credit int32

	loss float32 // of one direction
	owed float32 // the part of a copy that packets so far were due and did not get
	on   bool    // the path loses enough

	// Whether datagrams that leave anyway follow a packet in time for its copy to ride along.
	rides uint8         // of the last few packets, how many were followed by one
	met   bool          // one has followed the last packet
	since time.Duration // when that left
}

const (
	// Copies begin with the first of these losses of one direction, and end with the second. The gap keeps a wavering estimate
	// from switching back and forth.
	copiesFrom, copiesUntil = .01, .005

	// lateShare is the share of packets in each direction that may have to wait for a resend. Of the echoes two such shares are late. The rest of
	// the one in a hundred is for copies that come late themselves, as they have waited for company, and for bad luck.
	lateShare = .0025

	// maxCopies bounds the copies of a packet: at a loss that asks for more, a game is not played.
	maxCopies = 3

	// maxBehind bounds how many packets are taken to wait behind a lost one. A game has about five on the way. Bulk data in
	// small packets has hundreds, and its copies are no remedy for a window.
	maxBehind = 8

	rateSpan = 250 * time.Millisecond
	// earlyBurstBytes is the size of the bucket: one packet with its copies a hundred
	// times a second comes nowhere near it, a burst of bulk data does.
	earlyBurstBytes = 4096
)

// update takes the loss of one direction.
func (e *early) update(loss float64) {
	e.loss = float32(loss)
	e.on = loss >= copiesFrom || e.on && loss >= copiesUntil
}

// copies returns how many copies a small packet gets: one, or as many as it takes that no more than lateShare is late. If it is lost, so many wait, itself
// included. Where n copies are too few and one more is more than is needed, as many packets get one more as it takes.
func (e *early) copies(behind uint32) uint8 {
	if !e.on {
		return 0
	}
	late := e.loss * e.loss * float32(min(behind, maxBehind))
	for n := uint8(1); n < maxCopies; n++ {
		if late <= lateShare {
			return n
		}
		next := late * e.loss
		if next <= lateShare {
			if e.owed += (late - lateShare) / (late - next); e.owed >= 1 {
				e.owed--
				n++
			}
			return n
		}
		late = next
	}
	return maxCopies
}

// noteSent counts n bytes that go out for the first time.
func (e *early) noteSent(at time.Duration, n int) {
	if at >= e.rateEnd {
		span := rateSpan + at - e.rateEnd
		if e.rateEnd == 0 {
			span = rateSpan
		}
		e.rate = uint32(min(int64(e.sent)*int64(time.Second)/int64(span), math.MaxUint32))
		e.sent = 0
		e.rateEnd = at + rateSpan
	}
	e.sent += uint32(n)
}

// spend takes n bytes from the bucket, or says that there are too few.
func (e *early) spend(at time.Duration, n int, c *SendConfig) bool {
	rate := max(int64(c.EarlyBytes), int64(e.rate)*int64(c.EarlyPercent)/100)
	elapsed := min(at-e.filled, time.Second)
	e.credit = int32(min(int64(e.credit)+rate*int64(elapsed)/int64(time.Second), earlyBurstBytes))
	e.filled = at
	if int(e.credit) < n {
		return false
	}
	e.credit -= int32(n)
	return true
}

const maxCopySpacing = 8 * time.Millisecond

// copySpacing is how long after a packet its copy follows: a fourteenth of the round trip, so that both ways together are still far from what a resend
// takes, and a few milliseconds, so that a short burst of loss does not take both.
func copySpacing(rtt time.Duration) time.Duration {
	return min(max(rtt/14, 3*time.Millisecond), maxCopySpacing/2)
}

// rideAfter is how long after a packet its copy may ride along in a datagram that leaves anyway: sooner, a short burst
// of loss would take both.
const rideAfter = time.Millisecond

// asked notes that a packet leaves whose copies may ride along, and returns how long the first of them waits for that: twice as long if
// most packets were followed in time.
func (e *early) asked(at, rtt time.Duration) time.Duration {
	switch {
	case at == e.since: // another packet of the same datagram
	case e.met:
		e.rides = min(e.rides+1, maxRides)
	case e.rides > 0:
		e.rides--
	}
	e.met, e.since = false, at
	if e.rides > maxRides/2 {
		return 2 * copySpacing(rtt)
	}
	return copySpacing(rtt)
}

const maxRides = 8

// follows notes that a datagram leaves anyway.
func (e *early) follows(at time.Duration) {
	if d := at - e.since; d >= rideAfter && d <= maxCopySpacing {
		e.met = true
	}
}
