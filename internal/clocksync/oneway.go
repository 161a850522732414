package clocksync

import "time"

// OneWayStats counts the times given to Accept and Stamp by result.
type OneWayStats struct {
	Kept      uint64 // entered the window
	Unset     uint64 // a stamp before the first accept
	Backwards uint64 // an accept that ended before it began
	TooLong   uint64 // an accept that took more than 10 s
	Far       uint64 // years away from the present estimate
	Future    uint64 // sent after it arrived, by the present estimate
	Late      uint64 // more than 10 s later than the quickest, or an accept sent before we asked for it
	Restarted uint64 // the clock started over from this time, see Stamp
}

// OneWay reads a peer's clock from one exchange and the times that later packets carry.
// The zero value is a clock that is not yet set.
//
// The offset can be known only as an interval. A packet cannot arrive before it was sent, so the
// offset is at least its time minus our time of arrival (low). The answer of the exchange, the
// accept, cannot have been sent before we asked for it, so the offset is at most its time minus
// our time of asking (high). The accept alone gives both. The middle between them is its time
// plus half the round trip. Each quicker packet raises low. The offset that is used is low, from
// the quickest packet of the last 32, plus half of the least distance between low and high that
// was ever seen: the least one-way delay.
type OneWay struct {
	slewed
	groups  [stampGroups]bound // the quickest stamp of each group
	group   uint8              // the newest group
	inGroup uint8              // number of stamps in the newest group
	refused uint8              // stamps refused in a row
	high    bound
	delay   int64 // least one-way delay
	stats   OneWayStats
}

// bound is a limit of the offset, and the local time at which it held.
type bound struct {
	offset, at int64
}

// Accept takes an exchange whose answer carries one time of the peer, in µs, and reports
// whether it was kept. The first one sets the clock. If the question was repeated, sent is the
// earliest time. Received is taken as the current time.
func (c *OneWay) Accept(sent time.Time, peer uint64, received time.Time) bool {
	switch round := received.Sub(sent); {
	case round < 0:
		c.stats.Backwards++
		return false
	case round > maxRTT:
		c.stats.TooLong++
		return false
	}
	if !c.synced {
		c.start(received, peer)
		c.stats.Kept++
		c.restart(bound{}, bound{offset: -c.local(sent), at: c.local(sent)})
		return true
	}
	low, fate := c.measure(received, peer)
	asked := c.local(sent)
	high := bound{offset: low.offset + low.at - asked, at: asked}
	if fate == &c.stats.Kept && high.offset < c.lowAt(low.at)-int64(granularity) {
		fate = &c.stats.Late
	}
	*fate++
	if fate != &c.stats.Kept {
		return false
	}
	if high.offset < c.highAt(asked) {
		c.high = high
	}
	c.keep(low)
	return true
}

// Stamp takes the time that a packet carries, in µs of the peer's clock, and reports whether it
// was kept.
//
// A time that contradicts the known interval is refused. After 32 refusals in a row the
// interval itself must be wrong: a clock drifts more than we allow, or a machine was suspended.
// The clock then starts over from the last of them, with the least delay seen before. The
// reading still does not jump.
func (c *OneWay) Stamp(now time.Time, peer uint64) bool {
	if !c.synced {
		c.stats.Unset++
		return false
	}
	low, fate := c.measure(now, peer)
	if fate == &c.stats.Future || fate == &c.stats.Late {
		c.refused++
	}
	if c.refused == stampWindow {
		c.stats.Restarted++
		c.restart(low, bound{offset: low.offset + 2*c.delay, at: low.at})
		return true
	}
	*fate++
	if fate != &c.stats.Kept {
		return false
	}
	c.keep(low)
	return true
}

// measure reduces a time of the peer to the bound that it sets. It changes nothing, and returns
// the counter for the result.
func (c *OneWay) measure(now time.Time, peer uint64) (low bound, fate *uint64) {
	t := c.local(now)
	theirs, ok := c.remote(peer)
	low = bound{offset: theirs - t, at: t}
	switch {
	case !ok || low.offset < -maxOffset || low.offset > maxOffset:
		return low, &c.stats.Far
	case low.offset > c.highAt(t)+int64(granularity):
		return low, &c.stats.Future
	case low.offset < c.lowAt(t)-int64(maxStampDelay):
		return low, &c.stats.Late
	}
	return low, &c.stats.Kept
}

// keep puts low into the window and aims at the new offset.
func (c *OneWay) keep(low bound) {
	c.refused = 0
	if c.inGroup == groupStamps {
		c.group, c.inGroup = (c.group+1)%stampGroups, 0
	}
	if c.inGroup == 0 || low.offset >= c.groups[c.group].offset {
		c.groups[c.group] = low
	}
	c.inGroup++

	quickest, high := c.quickest(), c.highAt(low.at)
	c.delay = min(c.delay, max(high-quickest, 0)/2)
	c.aim(low.at, min(quickest+c.delay, high))
}

// restart begins with one interval, as if all stamps of the window had been low.
func (c *OneWay) restart(low, high bound) {
	for i := range c.groups {
		c.groups[i] = low
	}
	c.group, c.inGroup, c.refused = 0, groupStamps, 0
	c.high = high
	c.delay = (high.offset - low.offset) / 2
	c.aim(low.at, low.offset+c.delay)
}

// quickest returns the offset of the stamp with the least delay in the window.
func (c *OneWay) quickest() int64 {
	best := c.groups[0].offset
	for _, g := range c.groups[1:] {
		best = max(best, g.offset)
	}
	return best
}

// lowAt returns the least that the offset can be at local time t. A stamp says less
// the older it is, as the clocks may have drifted since.
func (c *OneWay) lowAt(t int64) int64 {
	low := c.groups[0].offset - skewOver(t-c.groups[0].at)
	for _, g := range c.groups[1:] {
		low = max(low, g.offset-skewOver(t-g.at))
	}
	return low
}

// highAt returns the most that the offset can be at local time t.
func (c *OneWay) highAt(t int64) int64 {
	return c.high.offset + skewOver(t-c.high.at)
}

// RTT returns twice the least one-way delay: the delay of the question to the peer plus that of
// the quickest packet from it. It is 0 before the first accept.
func (c *OneWay) RTT() time.Duration { return time.Duration(2 * c.delay) }

// ErrorBound returns how far Remote(now) may be from the truth at most. Packets in one
// direction do not show how late all of them are, so the bound grows by 1 ms for each second
// since the last accept. See the package comment for what is assumed. Before the first accept
// there is no bound.
func (c *OneWay) ErrorBound(now time.Time) time.Duration {
	if !c.synced {
		return unbounded
	}
	t := c.local(now)
	read := c.offsetAt(t)
	return time.Duration(max(c.highAt(t)-read, read-c.lowAt(t), 0)) + granularity
}

// Stats returns the counters.
func (c *OneWay) Stats() OneWayStats { return c.stats }
