package clocksync

import "time"

// Exchange is a question and its answer, with four times as in NTP.
type Exchange struct {
	Sent         time.Time // when we sent the question; the earliest time if it was repeated
	PeerReceived uint64    // when the peer received it, in µs of its clock
	PeerSent     uint64    // when the peer sent its answer, in µs of its clock
	Received     time.Time // when we received the answer
}

// FourTimeStats counts the exchanges given to Add by result.
type FourTimeStats struct {
	Kept      uint64 // entered the window
	Repeated  uint64 // its question was not sent after that of the newest exchange kept
	Backwards uint64 // ended before it began, or took less time than the peer claims to have held it
	TooLong   uint64 // took, or was held, for more than 10 s
	Far       uint64 // years away from the present estimate
}

// FourTime reads a peer's clock from exchanges of four times. It uses the offset of the
// exchange with the least round trip among the last 8, the exchange in force: the
// quickest exchange was delayed the least, so its error is the least. The zero value is a
// clock that is not set yet.
type FourTime struct {
	slewed
	window   [exchangeWindow]exchange
	count    uint8 // entries of window in use
	next     uint8 // entry that the next exchange replaces
	lastSent int64 // when the question of the newest exchange was sent
	smoothed time.Duration
	stats    FourTimeStats
}

// exchange is the stored part of an Exchange, in the units of slewed.
type exchange struct {
	sent, offset, rtt int64
}

// Add takes an exchange into account and reports whether it was kept. Received is taken
// as the current time.
//
// A question counts once: a further answer to the last question that counted, or to an
// older one, is dropped. Nothing is lost, as the first answer has the least round trip.
// Also, a peer that repeats answers cannot push the good ones out of the window.
func (c *FourTime) Add(x Exchange) bool {
	if !c.synced {
		c.start(x.Received, x.PeerReceived)
	}
	e, fate := c.measure(x)
	*fate++
	if fate != &c.stats.Kept {
		return false
	}
	c.smooth(time.Duration(e.rtt))
	c.lastSent = e.sent
	c.window[c.next] = e
	c.next = (c.next + 1) % exchangeWindow
	c.count = min(c.count+1, exchangeWindow)
	c.aim(c.local(x.Received), c.best().offset)
	return true
}

// measure checks x and reduces it to offset and round trip. It changes nothing, and
// returns the counter for the result.
func (c *FourTime) measure(x Exchange) (e exchange, fate *uint64) {
	round, hold := x.Received.Sub(x.Sent), int64(x.PeerSent-x.PeerReceived)
	switch {
	case round < 0 || hold < 0:
		return e, &c.stats.Backwards
	case round > 2*maxRTT || hold > maxRTT.Microseconds():
		return e, &c.stats.TooLong
	}
	held := time.Duration(hold) * time.Microsecond
	rtt := round - held
	switch {
	// A peer whose clock runs fast, by drift or because the peer is slewing it, measures
	// the time that it held the question a little too long.
	case rtt < -(held/slewDivisor + held/skewDivisor + granularity):
		return e, &c.stats.Backwards
	case rtt > maxRTT:
		return e, &c.stats.TooLong
	}
	theirs1, ok1 := c.remote(x.PeerReceived)
	theirs2, ok2 := c.remote(x.PeerSent)
	ours1, ours2 := c.local(x.Sent), c.local(x.Received)
	e = exchange{
		sent:   ours1,
		offset: floorDiv(theirs1-ours1+theirs2-ours2, 2),
		rtt:    int64(max(rtt, 0)),
	}
	switch {
	case !ok1 || !ok2 || e.offset < -maxOffset || e.offset > maxOffset:
		return e, &c.stats.Far
	case c.count > 0 && e.sent <= c.lastSent:
		return e, &c.stats.Repeated
	}
	return e, &c.stats.Kept
}

// best returns the exchange in force: the least round trip, the newest among equals.
func (c *FourTime) best() *exchange {
	best := &c.window[(c.next+exchangeWindow-c.count)%exchangeWindow]
	for i := exchangeWindow - c.count + 1; i < exchangeWindow; i++ {
		if e := &c.window[(c.next+i)%exchangeWindow]; e.rtt <= best.rtt {
			best = e
		}
	}
	return best
}

// smooth is the smoothing of RFC 6298, with its gain of an eighth.
func (c *FourTime) smooth(rtt time.Duration) {
	if c.count == 0 {
		c.smoothed = rtt
		return
	}
	c.smoothed += (rtt - c.smoothed) / 8
}

// RTT returns the round trip of the exchange in force, from 0 to 10 s; 0 before the first.
// It has no lower bound: a timer that is derived from it needs its own.
func (c *FourTime) RTT() time.Duration {
	if !c.synced {
		return 0
	}
	return time.Duration(c.best().rtt)
}

// SmoothedRTT returns the smoothed round trip, from 1 ms to 10 s; 0 before the first
// exchange.
func (c *FourTime) SmoothedRTT() time.Duration {
	if !c.synced {
		return 0
	}
	return min(max(c.smoothed, minSmoothedRTT), maxRTT)
}

// ErrorBound returns how far Remote(now) may be from the truth at most: half the round
// trip of the exchange in force (all of it may have been spent in one direction), plus
// the drift since then, plus the correction that is not slewed yet. See the package
// comment for what is assumed. Before the first exchange there is no bound.
func (c *FourTime) ErrorBound(now time.Time) time.Duration {
	if !c.synced {
		return unbounded
	}
	t, best := c.local(now), c.best()
	behind := best.offset - c.offsetAt(t)
	return time.Duration(best.rtt/2+skewOver(t-best.sent)+max(behind, -behind)) + granularity
}

// Stats returns the counters.
func (c *FourTime) Stats() FourTimeStats { return c.stats }
