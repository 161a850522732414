package simnet

import "math"

// clock turns network time into a host's own. The zero value is a clock that is right. All is in whole nanoseconds and
// parts in 10^9, so that it is the same on all machines.
type clock struct {
	from  int64 // network time when the rate was last set
	base  int64 // own time at from
	ppb   int64 // runs fast by this many parts in 10^9
	isSet bool
}

const giga = 1_000_000_000

// local is the own time at a network time. It never goes back as network time goes on, because |ppb| < 10^9.
func (c *clock) local(t int64) int64 {
	if !c.isSet {
		return t
	}
	d := t - c.from
	return c.base + d + d/giga*c.ppb + d%giga*c.ppb/giga
}

// network is the first network time, not before now, at which the own time is at least local.
func (c *clock) network(now, local int64) int64 {
	if !c.isSet {
		return max(now, local)
	}
	own := local - c.base
	// own = d*(1+ppb/10^9), so d is about own*10^9/(10^9+ppb); split so that it fits in 64 bits.
	whole, part := own/(giga+c.ppb), own%(giga+c.ppb)
	t := c.from + whole*giga + mulDiv(part, giga, giga+c.ppb)
	for c.local(t) < local {
		t++
	}
	for t > now && c.local(t-1) >= local {
		t--
	}
	return max(now, t)
}

// mulDiv is a*b/d for numbers below 2^31 each: b is 10^9, and a is below d, which is below 1.5*10^9.
func mulDiv(a, b, d int64) int64 { return a * b / d }

func (c *clock) setRate(now int64, ppm float64) {
	c.base, c.from, c.isSet = c.local(now), now, true
	c.ppb = int64(math.Round(ppm * 1000))
}

func (c *clock) shift(now, d int64) {
	c.base, c.from, c.isSet = c.local(now)+d, now, true
}
