package reliable

import "time"

// NextTimeout returns when to call HandleTimeout next.
func (s *Sender) NextTimeout() (time.Time, bool) {
	next := earliest(s.timerAt, s.fastAt)
	if s.copies.count > 0 {
		next = earliest(next, s.flights.at(s.copies.head).copyAt)
	}
	if s.later.count > 0 {
		next = earliest(next, s.flights.at(s.later.head).copyAt)
	}
	if s.waiting|s.resend.count > 0 && s.inFlight < s.cong.window {
		next = earliest(next, s.pacer.wakeAt)
	}
	if e := s.probeFlight(); e != nil {
		next = earliest(next, e.due)
	}
	if next == 0 {
		return time.Time{}, false
	}
	return s.born.Add(next - 1), true
}

func earliest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// HandleTimeout does everything that is due. It may be called early or late.
func (s *Sender) HandleTimeout(now time.Time) {
	at := s.at(now)
	if s.fastAt != 0 && at >= s.fastAt {
		s.findLost(at)
	}
	if s.timerAt != 0 && at >= s.timerAt {
		s.expire(at)
	}
	if e := s.probeFlight(); e != nil && at >= e.due {
		s.resendProbe(at, e)
	}
}

// expire handles every flight whose timer has run out, and none that flies on: a peer that is late has thousands of those.
func (s *Sender) expire(at time.Duration) {
	for id, ok := s.expired(at); ok; id, ok = s.expired(at) {
		e := s.flights.at(id)
		if later := s.postponed(at, e); later > at {
			s.timerMove(id, e, later)
		} else if !s.expireOne(at, id, e) {
			return
		}
	}
	s.timerAt = s.soonest()
}

// postponed returns when the timer of a packet is to run out that has good reason to be late, 0 if it has none. A bulk flow waits
// in a queue of its own making: packets sent before this one are still being
// acknowledged, and none sent after it is acknowledged yet. A small flow makes no queue,
// so its timers stay.
func (s *Sender) postponed(at time.Duration, e *flight) time.Duration {
	if e.resends > 0 || s.topTx[0] > e.tx || !s.cong.busy() {
		return 0
	}
	return s.ackedAt + s.rtt.rto(s.cfg)
}

// expireOne handles one flight whose timer ran out; false if the sender gave up.
func (s *Sender) expireOne(at time.Duration, id uint32, e *flight) bool {
	// A timer may run out for a lone packet on a good path. The path is taken for blocked
	// only when nothing at all was heard since its last resend.
	if e.resends > 0 && s.heardAt < e.last {
		s.cong.blocked()
	}
	s.lost(at, e, false)
	if e.report {
		s.reportLoss(id, e)
		return true
	}
	if s.cfg.Patient && at-s.ackedAt < s.cfg.GiveUpAfter {
		s.toResend(id, e, false)
		return true
	}
	// The tries of the oldest packet show whether the peer is alive. Another packet may have had as many
	// because the peer had no room for it, while all before it came through.
	if id == s.oldest && int(e.resends) >= s.cfg.Tries && at-e.first >= s.cfg.GiveUpAfter {
		s.fail(ReasonUnacknowledged)
		return false
	}
	s.toResend(id, e, false)
	return true
}

// probeFlight returns the newest packet if it was reported lost, nothing else
// is in flight and the caller found the window used up.
func (s *Sender) probeFlight() *flight {
	if !s.probing || s.unacked > 0 || s.flights.count == 0 {
		return nil
	}
	if e := s.flights.at(s.flights.head + s.flights.count - 1); e.state == probe {
		return e
	}
	return nil
}

// resendProbe puts the probe on the wire again as if it had never been reported.
func (s *Sender) resendProbe(at time.Duration, e *flight) {
	if int(e.resends) >= s.cfg.Tries && at-e.first >= s.cfg.GiveUpAfter {
		s.fail(ReasonUnacknowledged)
		return
	}
	e.resends = min(e.resends, 254) + 1
	e.last, e.due = at, at+s.delay(e)
	s.probeDue = true
}
