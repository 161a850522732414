package gateway

import (
	"math"

	"parley/internal/serial"
	"parley/play/message"
	"parley/world"
)

// stamps are what a seat knows of the inputs that came with stamps, and what its client is told of them. A client that sends no
// stamps has none.
type stamps struct {
	newest uint64                   // the highest number that has come; 0 before the first
	seen   [stampWindow / 64]uint64 // which of the newest numbers have come: bit n modulo their count
	done   uint64                   // the highest number that was done or refused
	margin int8                     // of the newest

	steered   uint64 // the highest number of a steer that was done, or refused
	steeredAt uint32 // the tick that it was meant for, as it came
}

// take notes a number of a client, and reports whether it is new: "A repeated number is done once." A number that is so old that
// nobody knows counts as repeated.
func (p *stamps) take(wire uint32) (number uint64, fresh bool) {
	number = serial.Bits(32).Unwrap(p.newest, wire)
	switch {
	case number == 0 || number+stampWindow <= p.newest:
		return number, false
	case number > p.newest+stampWindow: // none of those that are known is near
		clear(p.seen[:])
		p.newest = number
	}
	for p.newest < number {
		p.newest++
		*p.word(p.newest) &^= 1 << (p.newest % 64)
	}
	word, bit := p.word(number), uint64(1)<<(number%64)
	fresh = *word&bit == 0
	*word |= bit
	return number, fresh
}

func (p *stamps) word(number uint64) *uint64 { return &p.seen[number/64%uint64(len(p.seen))] }

// heed reads the stamp of an input that has come, and reports whether the input is new. Numbers and ticks are unwrapped from here
// on.
func (r *Room) heed(q *request) bool {
	s, now, stats := q.seat, r.sim.Tick(), &r.hub.stats
	stats.StampedInput++
	if s.stamps == nil {
		s.stamps = new(stamps)
	}
	number, fresh := s.stamps.take(q.stamp.Number)
	if !fresh {
		stats.RepeatedInput++
		s.answer(q.tag, world.Ignored)
		return false
	}
	q.number, q.tick = number, serial.Bits(32).Unwrap(now, q.stamp.Tick)
	margin := int64(q.tick - now)
	if number == s.stamps.newest {
		s.stamps.margin = int8(max(math.MinInt8, min(margin, math.MaxInt8)))
	}
	switch {
	case margin < 0: // "one that is late is done now"
		stats.LateInput++
		q.tick = now
	case margin > maxStampAhead: // "at most 8 ticks"
		stats.FarInput++
		q.tick = now + maxStampAhead
	}
	q.shown = r.believed(s, q)
	return true
}

// believed returns the tick that was on a client's screen, or 0 if that cannot be: "within 250 ms of the past and never beyond
// what this client has acknowledged or been sent".
func (r *Room) believed(s *Seat, q *request) uint64 {
	if q.stamp.Shown == 0 {
		return 0
	}
	shown := serial.Bits(32).Unwrap(r.sim.Tick(), q.stamp.Shown)
	if shown >= s.upto || q.tick-shown > uint64(r.sim.Config().MaxShownTicks) {
		r.hub.stats.DoubtedShown++
		return 0
	}
	return shown
}

// isOvertaken notes a steer that is to be done, and reports whether another has overtaken it: one that the player made later, for the same
// tick or a later one, was done. Clients send a steer several times, so that one may come long after what has taken its place: done then,
// it would turn the body back.
func (p *stamps) isOvertaken(q *request) bool {
	if q.number < p.steered && int32(q.stamp.Tick-p.steeredAt) <= 0 {
		return true
	}
	if q.number >= p.steered {
		p.steered, p.steeredAt = q.number, q.stamp.Tick
	}
	return false
}

// did notes that an input with a stamp was done or refused.
func (s *Seat) did(number uint64) {
	if number != 0 {
		s.stamps.done = max(s.stamps.done, number)
	}
}

// fate returns what a client that sends stamps is told with the tick that has just been run.
func (s *Seat) fate() (f message.Fate, ok bool) {
	if s.stamps == nil {
		return f, false
	}
	return message.Fate{Tick: uint32(s.room.sim.Tick() - 1), Number: uint32(s.stamps.done), Margin: s.stamps.margin}, true
}
