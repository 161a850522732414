package picture

import (
	"math"
	"time"
)

// sentTicks is how many ticks a Lead remembers when the input for them was sent.
const sentTicks = 256

// guessedTrip is the round trip that is assumed while no margin is known, in seconds.
const guessedTrip = .1

// A Lead is the own tick of a client that predicts: ahead of the server by as little as gets its inputs there a tick before they are needed.
// It learns that from the margins in fates. It runs a little faster or slower, and never backwards. It jumps before the first
// margins are known, and when it is seconds off.
//
// A margin is a whole number of ticks, and that of the newest input that had arrived. An input that fate T is the first to know of came to
// the server between the ticks T-1 and T. As inputs are sent at any moment of a tick, many of them say more than that.
type Lead struct {
	period float64

	begun bool
	epoch time.Time
	first uint64 // as in Clock

	heard   float64 // the newest tick
	heardAt float64
	late    spread // as in Clock

	sent  [sentTicks]sentTick
	trip  spread  // how far the server was when inputs came, less the time at which they were sent, in ticks
	rough spread  // the same of inputs that may have come by a copy
	base  float64 // of the own tick, less the time in ticks: where it should be
	known bool    // from margins

	at     float64
	own    float64
	locked bool
}

// sentTick is the first input for a tick.
type sentTick struct {
	tick, number uint64
	at           float64 // in ticks
	is           bool
	rough        bool
}

// NewLead returns the lead over a world with so many ticks a second.
func NewLead(rate int) Lead {
	period := 1 / float64(max(1, rate))
	return Lead{period: period, late: newSpread(period), trip: newSpread(period), rough: newSpread(period)}
}

// Heard says that a tick has arrived.
func (l *Lead) Heard(now time.Time, tick uint64) {
	if !l.begun {
		l.begun, l.epoch, l.first = true, now, tick
		l.late.add(0, 0)
		l.aim()
		l.own = l.base
		return
	}
	l.advance(now)
	n := float64(int64(tick - l.first))
	if n <= l.heard {
		return
	}
	l.heard, l.heardAt = n, l.at
	late := l.at - float64(n*l.period)
	if off := late - quantile(l.late.sort(), .5); math.Abs(off) > max(gap, leastGap*l.period) {
		l.shift(off)
	}
	if l.late.add(l.at, late) && !l.known {
		l.aim()
	}
}

// shift takes it that the server has stood still for some seconds, or has left ticks out.
func (l *Lead) shift(seconds float64) {
	l.late.shift(seconds)
	l.trip.shift(-seconds / l.period)
	l.rough.shift(-seconds / l.period)
	l.base -= seconds / l.period
}

// Sent says that an input with a number was sent for the first time, and for which tick.
func (l *Lead) Sent(now time.Time, tick, number uint64) {
	if s := &l.sent[tick%sentTicks]; s.is && s.tick == tick {
		s.rough = true // of several, the first may be lost
	} else if l.begun {
		*s = sentTick{tick: tick, number: number, at: now.Sub(l.epoch).Seconds() / l.period, is: true}
	}
}

// Again says that the input for a tick is sent again, as it may be lost: which of the two comes is not known then.
func (l *Lead) Again(tick uint64) {
	if s := &l.sent[tick%sentTicks]; s.tick == tick {
		s.rough = true
	}
}

// Margin takes what the fate of a tick says: the number of the newest input that was done by then, and the margin of the newest that had
// come.
func (l *Lead) Margin(now time.Time, tick, done uint64, margin int) {
	if !l.begun {
		return
	}
	l.advance(now)
	s := &l.sent[(tick+uint64(margin))%sentTicks]
	if !s.is || s.tick != tick+uint64(margin) || margin <= 0 && s.number > done {
		return // of an input that an earlier fate knew of
	}
	trip := float64(int64(tick-l.first)) - 1 - s.at
	if s.rough {
		l.rough.add(l.at, trip)
	} else {
		l.trip.add(l.at, trip)
	}
	l.known = true
	l.aim()
}

// enough is how many inputs that came for certain at the first try make the others needless.
const enough = 16

// aim finds where the own tick should be.
func (l *Lead) aim() {
	if !l.known {
		l.base = guessedTrip/l.period + 1.5 - quantile(l.late.sort(), .1)/l.period
		return
	}
	l.trip.expire(l.at)
	l.rough.expire(l.at)
	s := &l.trip
	if s.n < enough && l.rough.n > s.n {
		s = &l.rough
	}
	if s.n == 0 {
		return
	}
	s.follow()
	list := s.sort()
	middle, low := quantile(list, .5), quantile(list, .1)
	copies := 0.0
	if s == &l.rough && middle-low < .7 {
		// A copy comes a tick later. As many of them are less than a tick after the middle as are more.
		copies = 2 * above(list, middle+1) / float64(len(list))
	}
	most := middle + max(1, 3*(middle-low)) // what is later is no jitter
	list = list[:len(list)-int(above(list, most))]
	l.base = 1 + quantile(list, .994-min(.9*copies, .2)) + few(len(list))
}

// above returns how many of a sorted list are greater than a number.
func above(list []float64, than float64) float64 {
	n := 0
	for n < len(list) && list[len(list)-1-n] > than {
		n++
	}
	return float64(n)
}

// follow forgets what is no longer so, when the newest numbers are quite others than those before.
func (s *spread) follow() {
	if s.n < 8 {
		return
	}
	list := s.sort()
	middle, low := quantile(list, .5), quantile(list, .1)
	most, _ := s.greatest(8)
	if most < middle-1 {
		s.keep(8)
		return
	}
	later := 0
	for i := range 4 {
		if s.recent(i).value > middle+max(1, 3*(middle-low)) {
			later++
		}
	}
	if later >= 3 {
		s.keep(4)
	}
}

// few is how much greater than the greatest of so many the greatest of many is, or so.
func few(n int) float64 { return min(.5, .6/math.Sqrt(float64(n))) - .005 }

// At returns the own tick, with its part.
func (l *Lead) At(now time.Time) float64 {
	if !l.begun {
		return 0
	}
	l.advance(now)
	return float64(l.first) + l.own
}

// advance brings the own tick to a time.
func (l *Lead) advance(now time.Time) {
	to := now.Sub(l.epoch).Seconds()
	if to <= l.at {
		return
	}
	ticks := (to - l.at) / l.period
	l.at = to
	if to-l.heardAt > max(gap, leastGap*l.period) {
		return // the server may have stopped, or the way to it
	}
	behind := to/l.period + l.base - l.own - ticks
	switch {
	case !l.locked && behind > 0, behind*l.period > gap:
		l.own += ticks + behind
		l.locked = l.locked || l.trip.n+l.rough.n >= 4
		return
	case !l.locked && behind > -.5:
		l.locked = l.trip.n+l.rough.n >= 4
	}
	l.own += ticks + max(-math.Abs(behind), min(ticks*hurry(behind, .04), math.Abs(behind)))
}
