package reliable

import "time"

// Transmission is a packet to send.
type Transmission struct {
	Number uint64
	Tag    uint32 // as given to Send
	// Packet is valid until the next call. The caller may write a new time into it: a
	// resend keeps its number, not its time.
	Packet []byte
	Again  bool // it was sent before
}

// Poll returns the next packet to send, false if nothing may be sent now. Resends come
// first, then early copies, then the queue, then packets that may pass the queue.
func (s *Sender) Poll(now time.Time) (Transmission, bool) {
	s.Begin()
	return s.Join(now, maxPacketBytes)
}

func (s *Sender) out(e *flight, again bool) (Transmission, bool) {
	s.stats.Transmitted++
	e.joined = s.joined
	s.joined = true
	s.sent(e)
	return Transmission{Number: e.number, Tag: e.tag, Packet: e.data, Again: again}, true
}

// pollResend returns the next packet taken for lost. The oldest one goes out even if the
// window is full: its tries measure whether the peer is still alive.
func (s *Sender) pollResend(at time.Duration, room int) (uint32, bool) {
	for s.resend.count > 0 {
		id := s.resend.head
		e := s.flights.at(id)
		if e.state != lost {
			s.flights.linePop(&s.resend)
			s.flights.trim(s.pool)
			continue
		}
		if len(e.data) > room || id != s.oldest && !s.mayPut(at, len(e.data)) {
			return 0, false
		}
		s.flights.linePop(&s.resend)
		s.transmit(at, id, e)
		if e.byTimer {
			s.stats.Resent++
		} else {
			s.stats.FastResent++
		}
		return id, true
	}
	return 0, false
}

// pollCopies returns the next packet whose copy is due, or may ride along, if the copy is still of use and
// within the copies' share of the bandwidth.
func (s *Sender) pollCopies(at time.Duration, room int, ride bool) (uint32, bool) {
	if id, ok := s.pollCopy(at, &s.copies, room, ride); ok {
		return id, true
	}
	return s.pollCopy(at, &s.later, room, ride)
}

func (s *Sender) pollCopy(at time.Duration, l *line, room int, ride bool) (uint32, bool) {
	for l.count > 0 {
		id := l.head
		e := s.flights.at(id)
		if e.state == flying && (len(e.data) > room || e.copyAt > at && !(ride && at-e.last >= rideAfter)) {
			return 0, false
		}
		s.flights.copyPop(l)
		switch {
		case e.state != flying || e.resends > 0 || e.fast > 0:
			s.stats.CopiesSaved += uint64(e.copies)
			s.flights.trim(s.pool)
			continue
		case s.Narrow() || !s.early.spend(at, len(e.data), s.cfg):
			s.stats.CopiesDenied += uint64(e.copies)
			continue
		}
		s.stats.Copies++
		s.loss.transmitted(at, e.number, false, s.rtt.smoothed)
		s.pacer.spend(len(e.data))
		e.last = at
		s.timerMove(id, e, at+s.delay(e))
		if e.copies--; e.copies > 0 {
			e.copyAt = at + copySpacing(s.rtt.smoothed)
			next := &s.copies
			if s.bundles {
				e.copyAt = at + laterCopies*copySpacing(s.rtt.smoothed)
				next = &s.later
			}
			s.flights.copyAppend(next, id)
		}
		return id, true
	}
	return 0, false
}

// pollProbe returns the newest reliable packet, long reported lost, because
// only its acknowledgement can open the window again.
func (s *Sender) pollProbe(room int) (Transmission, bool) {
	e := s.probeFlight()
	if e != nil && len(e.data) > room {
		return Transmission{}, false
	}
	if s.probeDue = false; e == nil {
		return Transmission{}, false
	}
	e.joined = s.joined
	s.joined = true
	s.stats.Transmitted++
	s.stats.Probes++
	s.sent(e)
	return Transmission{Number: e.number, Tag: e.tag, Packet: e.data, Again: true}, true
}

// pollQueue returns the first packet of the queue, which is not empty, if it may be sent now. If not, it returns one that may pass, or nil.
func (s *Sender) pollQueue(at time.Duration, room int) (uint32, *flight) {
	e := s.flights.at(s.unsent)
	for ; e.state != queued; e = s.flights.at(s.unsent) {
		s.unsent++
	}
	if len(e.data) > room {
		return 0, nil
	}
	// What values may use of a narrow path was decided when they were made: see Budget.
	if !(e.report && s.Narrow()) && !s.mayPut(at, len(e.data)) {
		return s.pollExpress(at, room)
	}
	if e.chained { // both queues are in order, so it is the first of express too
		s.flights.linePop(&s.express)
	}
	s.unsent++
	return s.unsent - 1, e
}

// pollExpress returns a small packet that passes a queue that may not send now, nil if there is none.
func (s *Sender) pollExpress(at time.Duration, room int) (uint32, *flight) {
	if s.express.count == 0 {
		return 0, nil
	}
	id := s.express.head
	e := s.flights.at(id)
	if n := len(e.data); n > room || !s.pacer.express(at, n) {
		return 0, nil
	}
	s.flights.linePop(&s.express)
	return id, e
}

// mayPut reports whether the congestion window and the pacer let n bytes out.
// A lone small packet always passes: an interactive flow is not slowed.
func (s *Sender) mayPut(at time.Duration, n int) bool {
	if s.cfg.NoCongestion {
		return true
	}
	if s.inFlight+n > s.cong.window {
		s.cong.begin(at, s.tx)
		s.pacer.wakeAt = 0 // an acknowledgement opens the window, not time
		return s.pacer.express(at, n)
	}
	return s.pacer.ready(at, s) || s.pacer.express(at, n)
}

// paceRate is a little more than one window per round trip: pacing spreads bursts, and
// the window decides the rate.
func (s *Sender) paceRate() int64 {
	if s.rtt.smoothed == 0 {
		return 0
	}
	if s.cong.starting() {
		return 2 * s.Rate()
	}
	return s.Rate() * 5 / 4
}

// transmit notes that a flight goes on the wire now.
func (s *Sender) transmit(at time.Duration, id uint32, e *flight) {
	fresh := e.first == 0
	if fresh {
		e.first = at
		if e.report {
			s.values--
		}
		s.early.noteSent(at, len(e.data))
		s.planCopies(at, id, e)
	}
	e.state, e.last, e.due = flying, at, at+s.delay(e)
	e.tx, e.whole = s.takeTx(id), 0
	s.flights.wireAppend(&s.wire, id, e)
	s.inFlight += len(e.data)
	if 2*s.inFlight > s.cong.window {
		s.cong.begin(at, s.tx)
	}
	if s.loss.transmitted(at, e.number, fresh, s.rtt.smoothed) {
		s.early.update(s.loss.oneWay())
	}
	s.pacer.spend(len(e.data))
	if s.timerAt == 0 || e.due < s.timerAt {
		s.timerAt = e.due
	}
}

// planCopies decides whether a packet gets early resends: "send its copy a few
// milliseconds after the first instead of waiting for the timer".
func (s *Sender) planCopies(at time.Duration, id uint32, e *flight) {
	if s.cfg.NoEarly || e.report || len(e.data) > smallPacketBytes {
		return
	}
	// Where packets wait in a queue, loss is its overflow: a copy would make it worse.
	if !s.early.on || s.Narrow() {
		return
	}
	behind := uint32(1)
	if e.lane > 0 {
		// As many are on the way when its acknowledgement is due, and a third more when it is resent: all of them wait.
		behind = s.lanes.unacked[e.lane-1] * 4 / 3
	}
	if e.copies = s.early.copies(behind); e.copies == 0 {
		return
	}
	e.copyAt = at + s.early.asked(at, s.rtt.smoothed)
	s.flights.copyAppend(&s.copies, id)
}

// delay returns how long after this transmission the packet counts as lost: the resend
// delay, doubled for each resend by timer. From the first of these on it has up to an
// eighth of jitter, so that peers that lost a link together do not come back together.
func (s *Sender) delay(e *flight) time.Duration {
	d := s.rtt.rto(s.cfg)
	if e.resends == 0 {
		return d
	}
	d = min(d<<min(e.resends, 16), s.cfg.MaxBackoff)
	return d + time.Duration(s.rand.Int64N(int64(d)/8+1))
}
