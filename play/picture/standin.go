package picture

import "time"

// Stand-ins until clock.go, lead.go and blend.go are there.

type Clock struct {
	period time.Duration
	base   time.Time
	tick   uint64
	begun  bool
	last   float64
}

func NewClock(rate int) Clock { return Clock{period: time.Second / time.Duration(rate)} }

func (c *Clock) Heard(now time.Time, tick uint64) {
	if !c.begun || tick > c.tick {
		c.base, c.tick, c.begun = now, tick, true
	}
}

func (c *Clock) At(now time.Time) (float64, bool) {
	if !c.begun {
		return 0, false
	}
	c.last = max(c.last, min(float64(c.tick)-2+float64(now.Sub(c.base))/float64(c.period), float64(c.tick)))
	return c.last, true
}

type Lead struct {
	period time.Duration
	base   time.Time
	tick   uint64
	last   float64
}

func NewLead(rate int) Lead { return Lead{period: time.Second / time.Duration(rate)} }

func (c *Lead) Heard(now time.Time, tick uint64) {
	if tick > c.tick {
		c.base, c.tick = now, tick
	}
}

func (c *Lead) Margin(now time.Time, number uint64, margin int) {}

func (c *Lead) At(now time.Time) float64 {
	c.last = max(c.last, float64(c.tick)+6+float64(now.Sub(c.base))/float64(c.period))
	return c.last
}

type Blend struct {
	dx, dy, da float64
	at         time.Time
}

func (b *Blend) Add(now time.Time, dx, dy, da float64) bool {
	x, y, a := b.At(now)
	*b = Blend{x + dx, y + dy, a + da, now}
	return true
}

func (b *Blend) At(now time.Time) (dx, dy, da float64) {
	left := 1 - float64(now.Sub(b.at))/float64(100*time.Millisecond)
	if left <= 0 || b.at.IsZero() {
		return 0, 0, 0
	}
	return b.dx * left, b.dy * left, b.da * left
}
