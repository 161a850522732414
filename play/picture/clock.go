package picture

import (
	"math"
	"time"
)

const (
	// spreadSize is how many numbers a spread has.
	spreadSize = 200

	// spreadSpan is for how long they count, and leastSpan for how many ticks at least.
	spreadSpan = 10.0
	leastSpan  = 16

	// gap is how far off a clock may be, in seconds and at least in ticks, before it jumps: more was no play, but a pause.
	gap      = 1.0
	leastGap = 4
)

// A Clock says at which past tick others are drawn. It is as far behind the ticks that arrive as their jitter and loss ask for: it grows
// at once when they do, and shrinks slowly. It runs slower and faster for that, and never backwards. It jumps only when it
// is seconds off, after a pause.
type Clock struct {
	period float64 // seconds a tick

	begun  bool
	epoch  time.Time
	first  uint64  // the tick that was heard first: others count from it
	newest float64 // that was heard
	seen   uint64  // which of the newest ticks were heard, the newest in the lowest bit
	loss   float64 // the part of ticks that do not arrive

	late  spread  // when ticks came, less their own times
	grown float64 // how late most of them are

	at    float64 // the time of the last call
	drawn float64 // the tick that is drawn then
}

// NewClock returns a clock of a world with so many ticks a second.
func NewClock(rate int) Clock {
	period := 1 / float64(max(1, rate))
	return Clock{period: period, late: newSpread(period)}
}

// Heard says that a tick has arrived with all that it tells.
func (c *Clock) Heard(now time.Time, tick uint64) {
	if !c.begun {
		c.begun, c.epoch, c.first = true, now, tick
		c.drawn, c.seen = -c.depth(), ^uint64(0)
		c.late.add(0, 0)
		return
	}
	c.advance(now)
	n := float64(int64(tick - c.first))
	if !c.note(n) {
		return
	}
	late := c.at - float64(n*c.period)
	if !c.late.add(c.at, late) && late <= c.grown {
		return
	}
	sorted := c.late.sort()
	c.grown = quantile(sorted, .95)
	if _, second := c.late.greatest(8); second > c.grown {
		c.grown = second
	} else if c.late.n > 16 {
		if most, _ := c.late.greatest(16); c.grown-most > c.gap() { // ticks were left out
			c.late.keep(16)
			c.grown = most
		}
	}
}

// note takes a tick, and reports whether it is a new one.
func (c *Clock) note(n float64) bool {
	switch ahead := n - c.newest; {
	case ahead > 0:
		for range int(min(ahead, 64)) {
			// What is so old and not there will not come.
			lost := float64(^c.seen >> 15 & 1)
			c.loss += (lost - c.loss) / 128
			c.seen <<= 1
		}
		c.newest = n
		c.seen |= 1
		return true
	case ahead > -64 && c.seen>>uint(-ahead)&1 == 0:
		c.seen |= 1 << uint(-ahead)
		return true
	}
	return false
}

// depth is how many ticks the clock is behind those that come as late as most do: one to have two to draw between, and more if some are
// lost.
func (c *Clock) depth() float64 { return 1.35 + min(.4, 50*c.loss) }

func (c *Clock) gap() float64 { return max(gap, leastGap*c.period) }

// At returns the tick that is drawn now, with its part. It is false until two ticks can be drawn.
func (c *Clock) At(now time.Time) (tick float64, ok bool) {
	if !c.begun {
		return 0, false
	}
	c.advance(now)
	return float64(c.first) + c.drawn, c.drawn >= 0
}

// advance brings the clock to a time.
func (c *Clock) advance(now time.Time) {
	to := now.Sub(c.epoch).Seconds()
	if to <= c.at {
		return
	}
	if off := c.aim(to) - c.drawn; off*c.period > c.gap() {
		c.drawn = max(c.drawn, min(c.aim(to), c.newest-.5))
	} else {
		steps := min(int((to-c.at)/c.period*2)+1, 64)
		part := (to - c.at) / float64(steps)
		for i := range steps {
			c.run(c.at+float64(float64(i)*part), part/c.period)
		}
	}
	c.at = to
}

// aim returns the tick that should be drawn at a time.
func (c *Clock) aim(at float64) float64 { return (at-c.grown)/c.period - c.depth() }

// run lets a part of a tick pass. The less there is left to be drawn, the slower it runs, so that it never comes to the end
// when a tick is lost, or two.
func (c *Clock) run(at, ticks float64) {
	speed := 1 + hurry(c.aim(at)-c.drawn, .2)
	left := c.newest - c.drawn
	low := .7 * (c.depth() - 1)
	if fast := min(ticks*speed, left-low); fast > 0 {
		c.drawn += fast
		ticks -= fast / speed
		left -= fast
	}
	if ticks > 0 && left <= low {
		c.drawn = c.newest - left*math.Exp(-ticks/low)
	}
}

// hurry returns by how much a clock that is some ticks behind runs faster, or slower if it is ahead: up to a limit, and more if it is
// more than a tick off.
func hurry(behind, limit float64) float64 {
	far := max(0, math.Abs(behind)-1)
	most := min(.5, limit+float64(.1*far))
	return max(-most, min(float64(.3*behind), most))
}
