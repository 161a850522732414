package clocksync

import (
	"math"
	"time"
)

// slewed is the reading of a remote clock: a continuous function of local time that moves
// slowly towards the target offset. The zero value is a clock that is not set yet.
//
// Inside, times are int64 ns: local ones since epoch, remote ones since base, so that
// neither a clock that starts at a 62-bit hash nor one that wraps can overflow. An offset
// is remote minus local time in these units.
type slewed struct {
	epoch  time.Time // local time 0: when the first sample arrived
	base   uint64    // remote time 0, µs
	anchor int64     // local time from which the correction below runs
	offset int64     // offset as read at anchor
	left   int64     // correction still to come, signed
	synced bool
}

// Synced reports whether a sample has set the clock.
func (c *slewed) Synced() bool { return c.synced }

// Remote returns the remote time in µs at local time now, or 0 before the first sample.
// It never goes back as long as now does not, even if samples come in between.
func (c *slewed) Remote(now time.Time) uint64 {
	if !c.synced {
		return 0
	}
	t := c.local(now)
	return c.base + uint64(floorDiv(t+c.offsetAt(t), 1000))
}

// Local returns the local time at which Remote reaches the given remote time in µs if no
// further sample changes the clock, or the zero time before the first sample. It is
// the inverse of Remote to within a µs.
func (c *slewed) Local(remote uint64) time.Time {
	if !c.synced {
		return time.Time{}
	}
	rel := min(max(int64(remote-c.base), -maxRelMicros), maxRelMicros)
	ahead := rel*1000 - (c.anchor + c.offset)
	return c.epoch.Add(time.Duration(c.anchor + c.unslew(ahead)))
}

// start sets the clock by its first sample.
func (c *slewed) start(epoch time.Time, base uint64) {
	c.epoch, c.base = epoch, base
}

// aim sets the target offset from local time t on. The reading at t does not change. Only
// the first call makes it jump, as there is no earlier reading.
func (c *slewed) aim(t, target int64) {
	if !c.synced {
		c.anchor, c.offset, c.left, c.synced = t, target, 0, true
		return
	}
	// A sample may be handed in late. Going back before the last correction would
	// change readings that were already given.
	t = max(t, c.anchor)
	c.offset = c.offsetAt(t)
	c.anchor = t
	c.left = target - c.offset
}

// offsetAt returns the offset as read at local time t.
func (c *slewed) offsetAt(t int64) int64 {
	if t <= c.anchor {
		return c.offset
	}
	limit := (t - c.anchor) / slewDivisor
	return c.offset + min(max(c.left, -limit), limit)
}

// unslew returns the least local time after anchor in which the reading moves on by
// ahead. It inverts offsetAt exactly, rounding included: in every slewDivisor steps of
// local time the reading makes one step more, or one less, until left is used up.
func (c *slewed) unslew(ahead int64) int64 {
	if ahead <= 0 {
		return ahead
	}
	gained, lost := ahead/(slewDivisor+1), (ahead-1)/(slewDivisor-1)
	return ahead - min(max(c.left, -lost), gained)
}

// local returns t as ns since epoch.
func (c *slewed) local(t time.Time) int64 {
	return min(max(int64(t.Sub(c.epoch)), -maxElapsed), maxElapsed)
}

// remote returns a remote time as ns since base; false if it is absurdly far from base.
func (c *slewed) remote(micros uint64) (int64, bool) {
	rel := int64(micros - c.base)
	if rel < -maxRelMicros || rel > maxRelMicros {
		return 0, false
	}
	return rel * 1000, true
}

// unbounded is the error of a clock that was never set.
const unbounded = time.Duration(math.MaxInt64)

// skewOver returns how far two clocks may drift apart in d ns.
func skewOver(d int64) int64 { return max(d, 0)/skewDivisor + 1 }

// floorDiv returns a / b, rounded down; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
