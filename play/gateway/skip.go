package gateway

import "time"

// schedule says how many ticks a shared room has let go: while it had no sequencer, say. realm's clients count ticks by the clock, and what they ask for
// in a tick that is far ahead is refused. That an entry was due says it on every server, also on one that was cut off and runs many at once.
type schedule struct {
	wire uint64 // the tick, as realm's clients count it, from which it counts
	due  int64  // when the entry before it was due, in Unix microseconds

	// How far this server's clock is ahead of that by which entries are due, with their way: the least of a while, and of the one before.
	ahead, next, last time.Duration
	since             time.Time // when the while began that next is of; zero before the first entry
}

// skipped returns how many ticks were let go in all. known is how many it was, and due when the entry before the tick was.
func (s *schedule) skipped(tick uint64, due int64, every time.Duration, known uint64) uint64 {
	if s.due == 0 {
		s.wire, s.due = tick+known, due
	}
	byClock := int64(s.wire) + (due-s.due)/every.Microseconds()
	return known + uint64(max(byClock-int64(tick+known), 0))
}

// began returns when an entry was due by this server's clock, which realm's clients are told. That it has just been run says nothing, as many may be run
// at once: who logged in then would count ticks long past. Clocks of servers are taken to agree until they differ by as much in two whiles: a server
// that runs what it has missed, for minutes perhaps, comes nearer in each.
func (s *schedule) began(now time.Time, due int64) time.Time {
	ahead := now.Sub(time.UnixMicro(due))
	switch {
	case s.since.IsZero():
		s.since, s.next = now, ahead
	case now.Sub(s.since) > scheduleSpan:
		if (s.next - s.last).Abs() < scheduleNear {
			s.ahead = s.next
		}
		s.last, s.next, s.since = s.next, ahead, now
	}
	s.next = min(s.next, ahead)
	s.ahead = min(s.ahead, ahead)
	return time.UnixMicro(due).Add(s.ahead)
}
