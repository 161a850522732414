package reliable

import "time"

// AckFate is the fate of an acknowledgement.
type AckFate uint8

const (
	// AckNew is the first acknowledgement of a packet.
	AckNew AckFate = iota + 1
	// AckRepeat is for a packet that was acknowledged or dropped before.
	AckRepeat
	// AckUnsent is for a number that was never sent: a lie, ignored.
	AckUnsent
)

// String returns the fate's name.
func (f AckFate) String() string {
	return nameOf(uint8(f), "unset", "new", "repeat", "unsent")
}

// Ack takes the acknowledgement of one number, unwrapped to 64 bits. With the first acknowledgement of a
// packet it returns the packet's tag.
func (s *Sender) Ack(now time.Time, n uint64) (AckFate, uint32) {
	if s.failed != 0 {
		return AckRepeat, 0
	}
	s.stats.AcksIn++
	if n >= s.next {
		s.stats.AcksUnsent++
		return AckUnsent, 0
	}
	id, e := s.flights.find(n)
	if e != nil && e.state == queued {
		s.stats.AcksUnsent++
		return AckUnsent, 0
	}
	at := s.at(now)
	s.heardAt = at
	s.loss.acknowledged(n)
	if n+1 > s.newestAcked+1 { // newestAcked starts at first−1, which may be below zero
		s.newestAcked = n
	}
	if e == nil || e.state == done || e.state == probe {
		s.stats.AcksRepeat++
		if e == nil || e.resends == 0 {
			s.cameLate(at, n)
		}
		if e != nil && e.state == probe {
			s.dropProbe()
		}
		if took, ok := s.twice.sample(n); ok {
			s.sampled(took)
		}
		s.nudge(at)
		return AckRepeat, 0
	}
	s.stats.AcksNew++
	s.stats.Acked++
	s.ackedAt = at
	tag := e.tag
	s.measure(at, e)
	s.letGo(id, e)
	s.findLost(at)
	return AckNew, tag
}

// AckRun takes the acknowledgements of count numbers that follow each other, as Ack takes one. It stops behind the first packet
// that has a tag and is acknowledged for the first time. It returns how many numbers it has taken, that tag, and whether one
// of them was sent.
func (s *Sender) AckRun(now time.Time, first uint64, count int) (taken int, tag uint32, sent bool) {
	for taken < count && tag == 0 {
		if id, e := s.flights.find(first + uint64(taken)); e != nil && e.state == flying {
			var n int
			n, tag = s.ackFlying(s.at(now), id, count-taken)
			taken, sent = taken+n, true
			continue
		}
		fate, t := s.Ack(now, first+uint64(taken))
		taken, tag, sent = taken+1, t, sent || fate != AckUnsent
	}
	return taken, tag, sent
}

// ackFlying takes the acknowledgements of up to most packets, of which the first is id, as long as their numbers follow each other
// and they are on the wire. A run is of thousands where a peer sends as fast as it can, so what is the same for all is done once, and what is
// the same for a datagram once a datagram.
func (s *Sender) ackFlying(at time.Duration, id uint32, most int) (n int, tag uint32) {
	var lead *flight // of the datagram that is being measured
	var rtt time.Duration
	bytes := 0
	first := s.flights.at(id).number
	for left := s.flights.head + s.flights.count - id; n < most && left > 0 && tag == 0; n, id, left = n+1, id+1, left-1 {
		e := s.flights.at(id)
		if e.state != flying || e.number != first+uint64(n) {
			break
		}
		s.loss.acknowledged(e.number)
		if lead == nil || e.tx != lead.tx || e.first != lead.first || e.resends|e.fast != 0 {
			if lead != nil {
				s.measured(at, rtt, lead, bytes)
			}
			lead, rtt, bytes = e, s.tookFor(at, e), 0
		}
		bytes += len(e.data)
		s.acked(at, rtt, e)
		tag = e.tag
		s.release(id, e)
	}
	s.measured(at, rtt, lead, bytes)
	s.stats.AcksIn += uint64(n)
	s.stats.AcksNew += uint64(n)
	s.stats.Acked += uint64(n)
	s.heardAt, s.ackedAt = at, at
	if last := first + uint64(n) - 1; last+1 > s.newestAcked+1 {
		s.newestAcked = last
	}
	s.leave()
	s.findLost(at)
	return n, tag
}

// measure updates the estimates from a flight that was acknowledged.
func (s *Sender) measure(at time.Duration, e *flight) {
	rtt := s.tookFor(at, e)
	s.acked(at, rtt, e)
	s.measured(at, rtt, e, len(e.data))
}

// tookFor returns the round trip of a flight that was acknowledged, 0 if that is not known.
func (s *Sender) tookFor(at time.Duration, e *flight) (rtt time.Duration) {
	switch again := e.resends + e.fast; {
	case again == 0:
		// Karn's rule: a packet that was resent gives no sample of the round trip, as the
		// acknowledgement may be of either transmission. A packet and its early resends count as
		// one transmission of a few milliseconds. Counted from the first, the sample is never too
		// short, and too long by no more than that.
		// Copies that waited for company count as transmissions of their own.
		if rtt = at - e.first; s.bundles && e.last-e.first > maxCopySpacing && at-e.last >= s.rtt.least*3/4 {
			rtt = 0
		}
		s.noteTop(e.tx)
		s.reorder -= s.reorder >> 10
	case again == 1 && at-e.last < s.rtt.least*3/4:
		// Nothing travels that fast: this is the acknowledgement of the first transmission, which
		// was late, not lost. So it is a sample after all. Without it, a round trip that grew past
		// the resend delay would never be learnt.
		rtt = at - e.first
		if e.fast > 0 {
			s.overtaken(rtt)
		}
	default:
		s.rtt.doubt(at - e.first)
		// A packet with copies may be acknowledged twice without a resend.
		if again == 1 && e.copyAt == 0 && !s.cfg.TimerOnly {
			s.twice.note(e.number, at-e.first)
		}
	}
	return rtt
}

// measured takes the round trip of a flight, 0 if it is not known, and the bytes of all that were acknowledged with it and left in the
// same datagram. These give one sample.
func (s *Sender) measured(at, rtt time.Duration, e *flight, bytes int) {
	if rtt > 0 && s.rtt.grown() {
		s.loss.forget() // packets that were only late were taken for lost
	}
	if s.cfg.TimerOnly {
		rtt = s.sampleAnyway(at, e, rtt)
	}
	s.sampled(rtt)
	s.cong.acked(at, bytes, rtt, e.tx, s.tx)
}

// overtaken takes the round trip of a packet that was taken for lost because later ones were acknowledged first.
func (s *Sender) overtaken(rtt time.Duration) {
	late := rtt - s.rtt.least
	s.reorder = min(max(s.reorder, late+late/4), s.rtt.smoothed/2)
}

// sampled takes a round trip that an acknowledgement has shown.
func (s *Sender) sampled(rtt time.Duration) {
	if s.rtt.sample(rtt) {
		s.pool.RoundTrips.Add(rtt)
	}
}

// sampleAnyway returns a sample for a packet that was resent, if there has been no other for a
// while. If the round trip is longer than the resend delay, every packet is resent, and by Karn's
// rule the round trip would never be learnt. Counted from the first transmission, the sample is
// never too short. After it, packets are resent later, so the next samples are good.
func (s *Sender) sampleAnyway(at time.Duration, e *flight, rtt time.Duration) time.Duration {
	if rtt > 0 {
		s.vague = 0
		return rtt
	}
	if s.vague++; s.rtt.smoothed > 0 && s.vague < maxVague {
		return 0
	}
	s.vague = 0
	if s.rtt.smoothed > 0 { // else the first packets may have waited for the peer to let us in, which says nothing of the path
		s.loss.forget() // as above: these were late, not lost
	}
	return at - e.first
}

// noteTop keeps the three newest datagrams that were acknowledged.
func (s *Sender) noteTop(tx uint64) {
	t := &s.topTx
	switch {
	case tx == t[0] || tx == t[1]: // another packet of it was
	case tx > t[0]:
		t[0], t[1], t[2] = tx, t[0], t[1]
	case tx > t[1]:
		t[1], t[2] = tx, t[1]
	case tx > t[2]:
		t[2] = tx
	}
}

// letGo removes a flight that was acknowledged, or lost and reported.
func (s *Sender) letGo(id uint32, e *flight) {
	s.release(id, e)
	s.leave()
}

// release is letGo, but leaves what follows from it to leave.
func (s *Sender) release(id uint32, e *flight) {
	if e.state == flying {
		s.flights.wireRemove(&s.wire, id, e)
		s.inFlight -= len(e.data)
	}
	if e.lane > 0 {
		s.lanes.unacked[e.lane-1]--
	}
	s.unacked--
	s.bytes -= len(e.data)
	s.unload(e)
	e.state = done
}

// leave goes on after flights were released.
func (s *Sender) leave() {
	s.passOldest()
	s.flights.trim(s.pool)
	if s.wire.count() == 0 {
		s.timerAt, s.fastAt = 0, 0
	}
}

// passOldest moves the mark of the oldest unacknowledged flight past all that are not unacknowledged any more.
func (s *Sender) passOldest() {
	if s.unacked == 0 {
		return
	}
	before := s.oldest
	e := s.flights.at(s.oldest)
	for ; e.state == done || e.state == probe; e = s.flights.at(s.oldest) {
		s.oldest++
	}
	if s.oldest != before && e.resends > 0 {
		s.hurry(s.oldest, e)
	}
}

// hurry makes a packet that was resent before, and is the oldest from now on, go out soon. All packets
// before it came through, so its long delay, or its place behind others, only means that the peer had no
// room for it.
func (s *Sender) hurry(id uint32, e *flight) {
	e.resends = 1 // from now on its tries count
	switch {
	case e.state == flying:
		s.timerMove(id, e, min(e.due, e.last+2*s.rtt.rto(s.cfg)))
	case e.state == lost && s.resend.head != id:
		s.flights.lineRemove(&s.resend, id)
		s.flights.linePrepend(&s.resend, id)
	}
}

// findLost takes a packet for lost when three later ones were acknowledged before it: "or at once
// when acks for three later packets came first, once a packet a round trip" (replica, Acks and
// resends). A resend counts as a transmission of its own, so a packet is overtaken again only by
// packets sent after its resend.
func (s *Sender) findLost(at time.Duration) {
	if s.cfg.TimerOnly {
		return
	}
	s.fastAt = 0
	for s.wire.count() > 0 {
		id := s.wire.head
		e := s.flights.at(id)
		if e.tx >= s.topTx[2] {
			return
		}
		wait := s.reorder
		if e.fast > 0 {
			wait = max(wait, s.rtt.smoothed)
		} else if wait > 0 || e.last != e.first {
			wait += s.rtt.least
		}
		if when := e.last + wait; when > at {
			s.fastAt = when
			return
		}
		s.lost(at, e, true)
		if e.report {
			s.reportLoss(id, e)
			continue
		}
		s.toResend(id, e, true)
	}
}

// toResend takes a flying packet off the wire and puts it in line to go out
// again: fast, or because its timer ran out, which counts as a try.
func (s *Sender) toResend(id uint32, e *flight, fast bool) {
	s.flights.wireRemove(&s.wire, id, e)
	if e.byTimer = !fast; fast {
		e.fast = min(e.fast, 254) + 1
	} else {
		e.resends = min(e.resends, 254) + 1
	}
	s.inFlight -= len(e.data)
	e.state = lost
	if id == s.oldest {
		s.flights.linePrepend(&s.resend, id)
	} else {
		s.flights.lineAppend(&s.resend, id)
	}
}

// nudge resends the oldest packet, if it waits for its timer, when the peer repeats an
// acknowledgement. A peer that had no room for the packet says in this way that it has room
// again.
func (s *Sender) nudge(at time.Duration) {
	if s.unacked == 0 || s.cfg.TimerOnly {
		return
	}
	e := s.flights.at(s.oldest)
	if e.state != flying || e.resends == 0 || at-e.last < max(s.rtt.smoothed, minRTT) {
		return
	}
	s.toResend(s.oldest, e, true)
}

// reportLoss drops a lost packet and reports it through PollLost. The newest packet is kept as a
// probe: "when the window is used up the newest reliable packet is resent until an ack comes"
// (replica, Sequences).
func (s *Sender) reportLoss(id uint32, e *flight) {
	s.stats.Lost++
	s.flights.wireRemove(&s.wire, id, e)
	s.inFlight -= len(e.data)
	e.state = lost
	s.flights.lineAppend(&s.losses, id) // its slot stays until PollLost has returned it
	if uint32(e.number) != s.reliable {
		s.letGo(id, e)
		return
	}
	if e.lane > 0 {
		s.lanes.unacked[e.lane-1]--
	}
	s.unacked--
	s.bytes -= len(e.data)
	e.state = probe
	e.due = e.last + s.delay(e)
	s.passOldest()
	if s.wire.count() == 0 {
		s.timerAt, s.fastAt = 0, 0
	}
}

// dropProbe drops the newest packet if it was kept after its loss.
func (s *Sender) dropProbe() {
	if s.flights.count == 0 {
		return
	}
	e := s.flights.at(s.flights.head + s.flights.count - 1)
	if e.state != probe {
		return
	}
	s.unload(e)
	e.state = done
	s.flights.trim(s.pool)
}

// PollLost returns the next packet of Options.Report that is considered lost.
func (s *Sender) PollLost() (Loss, bool) {
	if s.losses.count == 0 {
		return Loss{}, false
	}
	e := s.flights.at(s.losses.head)
	l := Loss{Number: e.number, Tag: e.tag}
	s.flights.linePop(&s.losses)
	s.flights.trim(s.pool)
	return l, true
}
