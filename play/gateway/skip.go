package gateway

import "time"

// schedule says how many ticks a shared room has let go: while it had no sequencer, say. realm's clients count ticks by the clock, and what they ask for
// in a tick that is far ahead is refused. That an entry was due says it on every server, also on one that was cut off and runs many at once.
type schedule struct {
	wire uint64 // the tick, as realm's clients count it, from which it counts
	due  int64  // when the entry before it was due, in Unix microseconds
}

// skipped returns how many ticks were let go in all. known is how many it was, and due when the entry before the tick was.
func (s *schedule) skipped(tick uint64, due int64, every time.Duration, known uint64) uint64 {
	wire := tick + known
	if s.due == 0 || wire < s.wire {
		s.wire, s.due = wire, due
	}
	return known + max((uint64(max(due-s.due, 0))/uint64(every.Microseconds())), wire-s.wire) - (wire - s.wire)
}
