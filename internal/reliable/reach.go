package reliable

import (
	"time"

	"parley/internal/pace"
)

// reach bounds how many bytes of values may be in flight while the path is not known to be narrow: what was of use lately, and
// half as much. That a path takes less than before is known when acknowledgements are late. Until then each tick would add to its
// queue. The bound grows as a congestion window does that starts, with each acknowledgement that is in time. The zero value lets
// the first tick send firstReach.
type reach struct {
	window int32 // bytes
	flying int32 // bytes of values in flight
	peak   int32 // the most of it in this epoch
	before int32 // and in the one before
	tick   int32 // bytes of values that the tick under way has sent
	most   int32 // the most that a tick sent lately
	room   int32 // for the tick under way, if it is bounded

	// doubt are bytes of values that were reported lost by their timers, and may wait in a queue. They count as in flight until a
	// packet is acknowledged that was sent later than doubtAt.
	doubt   int32
	doubtAt time.Duration

	end     time.Duration // of this epoch
	usual   time.Duration // the round trip while no tick is bounded
	late    uint8         // acknowledgements in a row that were late, while ticks were bounded
	bounded bool          // the tick under way
	ever    bool          // one of this epoch
}

const (
	// firstReach is what any path takes: a packet, and what a player cannot do without.
	firstReach = mss + smallPacketBytes

	// reachEpoch is half of the time for which it counts what was of use.
	reachEpoch = 2 * time.Second

	// manyLate is how many acknowledgements of values must be late in a row, while ticks are bounded, to show that there is a queue.
	manyLate = 10

	// An acknowledgement is late that takes a quarter longer than usual, and lateBy.
	lateBy = 10 * time.Millisecond
)

// budget returns what a tick may send, on a path with that smoothed round trip.
func (r *reach) budget(at, rtt time.Duration) int {
	used := r.tick > r.room*3/4
	r.most, r.tick = max(r.most, r.tick), 0
	switch {
	case r.end == 0:
		r.window, r.usual, r.bounded = firstReach, rtt, true
		r.end = at + reachEpoch
		used = true
	case at >= r.end:
		r.roll(at, rtt)
	}
	// How much a tick needs that used all its room is not known.
	r.room = r.window - r.flying - r.doubt
	if r.bounded = r.room < r.most || r.bounded && used; !r.bounded {
		r.late = 0
		return pace.Unlimited
	}
	r.ever = true
	return int(max(r.room, 0))
}

// roll begins an epoch.
func (r *reach) roll(at, rtt time.Duration) {
	if !r.ever {
		r.usual = rtt
	}
	r.window = max(max(r.peak, r.before)*3/2, firstReach)
	r.before, r.peak, r.ever, r.end = r.peak, r.flying+r.doubt, false, at+reachEpoch
	r.most = r.most * 7 / 8
}

// sent takes a value that goes out.
func (r *reach) sent(n int32) {
	r.tick += n
	r.flying += n
	r.peak = max(r.peak, r.flying+r.doubt)
}

// arrived takes the acknowledgement of a packet. rtt is 0 if it is no sample.
func (r *reach) arrived(e *flight, rtt time.Duration) {
	if e.first > r.doubtAt {
		r.doubt = 0
	}
	if !e.report {
		return
	}
	n := int32(len(e.data))
	r.flying = max(r.flying-n, 0)
	if r.usual == 0 { // nothing was known before the first tick
		r.usual = rtt
	}
	switch {
	case !r.bounded || rtt == 0 || n <= smallPacketBytes: // a small one is soon there on any path
	case rtt <= r.usual+r.usual/4+lateBy:
		r.window += n
		r.late = 0
	case r.late < manyLate:
		r.late++
	}
}

// lost takes a value that was reported lost: by its timer, or because later packets were acknowledged.
func (r *reach) lost(e *flight, fast bool) {
	n := int32(len(e.data))
	r.flying = max(r.flying-n, 0)
	if !fast {
		r.doubt, r.doubtAt = r.doubt+n, max(r.doubtAt, e.first)
	}
}
