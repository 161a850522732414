package clocksync

import (
	"math"
	"math/bits"
	"time"
)

// DefaultTickRate is the number of ticks a second of the zero Ticks.
const DefaultTickRate = 20

// Ticks maps server time to tick numbers and back. Tick numbers are 64 bits here; on the
// wire they are the low 16. The zero value has 20 ticks a second, tick 0 beginning at
// time 0.
//
// Rates that do not divide a second into whole µs, such as 60, are exact: tick 60 begins
// one second after tick 0, and the ticks between begin at the next whole µs after their
// true time.
type Ticks struct {
	origin uint64 // server time in µs at which tick first begins
	first  uint64
	span   uint64 // µs that per ticks take together; 0 means the default rate
	per    uint64
}

// PerSecond returns Ticks of the given rate, 1 to 1,000,000 a second, tick 0 beginning at
// time 0.
func PerSecond(rate int) Ticks {
	if rate < 1 || rate > 1_000_000 {
		panic("clocksync: tick rate outside 1 to 1,000,000 a second")
	}
	return Ticks{span: 1_000_000, per: uint64(rate)}
}

// Every returns Ticks of the given length, a whole number of µs up to an hour, tick 0
// beginning at time 0.
func Every(length time.Duration) Ticks {
	if length < time.Microsecond || length > time.Hour || length%time.Microsecond != 0 {
		panic("clocksync: tick length is not a whole number of µs from 1 µs to 1 h")
	}
	return Ticks{span: uint64(length.Microseconds()), per: 1}
}

// From returns t with the given tick beginning at the given server time in µs. A login
// message carries these two.
func (t Ticks) From(tick, start uint64) Ticks {
	t.first, t.origin = tick, start
	return t
}

// TickAt returns the tick that server time remote, in µs, is in. Before tick 0 it is tick 0.
func (t Ticks) TickAt(remote uint64) uint64 {
	span, per := t.rate()
	rel := int64(remote - t.origin)
	if rel < 0 {
		// A tick lasts until its successor begins: round towards earlier ticks.
		return t.first - min(mulDiv(uint64(-rel), per, span, span-1), t.first)
	}
	return addSaturating(t.first, mulDiv(uint64(rel), per, span, 0))
}

// PartAt returns how much of the tick that server time remote, in µs, is in has passed: from 0 up to 1, and not 1.
func (t Ticks) PartAt(remote uint64) float64 {
	span, per := t.rate()
	passed := int64(remote - t.Start(t.TickAt(remote)))
	return max(0, min(float64(passed)*float64(per)/float64(span), 1-1e-9))
}

// Start returns the server time in µs at which a tick begins, the first µs for which TickAt
// returns it. It wraps, as server time does, for ticks that are too far away.
func (t Ticks) Start(tick uint64) uint64 {
	span, per := t.rate()
	if tick < t.first {
		return t.origin - mulDiv(t.first-tick, span, per, 0)
	}
	return t.origin + mulDiv(tick-t.first, span, per, per-1)
}

// Length returns the length of a tick, cut down to whole ns.
func (t Ticks) Length() time.Duration {
	span, per := t.rate()
	return time.Duration(span * 1000 / per)
}

// rate returns a number of µs and the number of ticks that take this time.
func (t Ticks) rate() (span, per uint64) {
	if t.span == 0 {
		return 1_000_000, DefaultTickRate
	}
	return t.span, t.per
}

// Wire returns a tick as the 16 bits that are sent.
func Wire(tick uint64) uint16 { return uint16(tick) }

// Unwire returns the tick that the 16 bits of a message mean: "the absolute tick nearest to
// now". If two are equally near, 32,768 ticks away, it is the earlier one. There are no
// ticks before 0, so close to 0 the result may be a later tick.
func Unwire(wire uint16, now uint64) uint64 {
	ahead := int16(wire - uint16(now))
	tick := now + uint64(int64(ahead))
	switch {
	case ahead < 0 && tick > now:
		return tick + 1<<16
	case ahead > 0 && tick < now:
		return tick - 1<<16
	}
	return tick
}

// mulDiv returns (a*b + carry) / c, or the greatest uint64 if that is too large.
func mulDiv(a, b, c, carry uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, over := bits.Add64(lo, carry, 0)
	hi += over
	if hi >= c {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// addSaturating returns a + b, or the greatest uint64 if that is too large.
func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
