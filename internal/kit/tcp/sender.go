package tcp

import "time"

const (
	reordering  = 3                      // later transmissions that arrived before one is lost: RFC 6675, DupThresh
	firstResend = time.Second            // before a round trip is known: RFC 6298
	leastResend = 200 * time.Millisecond // as Linux has it
	mostResend  = time.Minute
	mostWindow  = 2048 // segments, 3 MB: what receivers commonly offer at most
)

// sender is the sending side. Losses are told by the order of transmissions, not of segments: so a segment that was sent
// again and lost again is found too.
type sender struct {
	endless bool   // a download's
	out     []byte // what was not sent yet, if not
	rate    uint64 // bytes a second, 0 if there is no bound
	paced   time.Time
	now     time.Time
	window  window

	first    uint32 // the number of flight[0]
	flight   []sent // sent and not acknowledged up to here
	inFlight int    // of them, neither acknowledged nor lost
	lost     int    // of them, to be sent again

	transmissions uint32 // so far; each has a number
	newest        uint32 // the latest that is known to have arrived
	newestAt      time.Time
	recovered     uint32 // losses of transmissions up to this have been answered

	srtt, rttvar  time.Duration
	least         time.Duration // round trip
	lastAck       time.Time
	acked, resent uint64 // bytes
	backoff       int
	timer         time.Time
	stats         Stats
}

type sent struct {
	transmission uint32 // the latest of it
	at           time.Time
	acked, lost  bool
	data         []byte // nil in a download
}

func newSender(c Control) sender { return sender{window: newWindow(c)} }

func (s *sender) handle(now time.Time, a ack) {
	s.now, s.lastAck = now, now
	acked, flying := 0, s.inFlight
	if i := int(a.segment - s.first); a.segment >= s.first && i < len(s.flight) {
		if g := &s.flight[i]; !g.acked && g.transmission == a.transmission {
			s.sample(now.Sub(g.at))
			s.newestAt = g.at
		}
		acked += s.arrived(&s.flight[i])
	}
	for ; s.first < a.next && len(s.flight) > 0; s.first++ { // an acknowledgement that was lost said so before
		acked += s.arrived(&s.flight[0])
		s.acked += uint64(len(s.flight[0].data))
		s.flight = s.flight[1:]
	}
	s.newest = max(s.newest, a.transmission)
	s.findLosses()
	if acked > 0 {
		s.backoff = 0
		s.timer = now.Add(s.resendAfter())
		// Who has little to send does not find out what the path takes.
		if a.transmission > s.recovered && 2*flying >= int(s.window.size) {
			s.window.grow(now, acked, s.srtt)
		}
	}
}

// arrived takes a segment off what is under way, and returns 1 if that is news.
func (s *sender) arrived(g *sent) int {
	if g.acked {
		return 0
	}
	if g.lost {
		s.lost--
	} else {
		s.inFlight--
	}
	g.acked, g.lost = true, false
	return 1
}

func (s *sender) findLosses() {
	reduce := false
	for i := range s.flight {
		if g := &s.flight[i]; !g.acked && !g.lost && (g.transmission+reordering <= s.newest || s.isOvertaken(g)) {
			s.lose(g)
			reduce = reduce || g.transmission > s.recovered // one reduction for all losses of a round trip
		}
	}
	if reduce {
		s.window.reduce()
		s.recovered = s.transmissions
		s.stats.Reductions++
	}
}

// isOvertaken reports whether a segment arrived that was sent so much later that this one is lost: RFC 8985. Behind a loss in a
// download there are always more.
func (s *sender) isOvertaken(g *sent) bool {
	return !s.endless && g.transmission < s.newest && s.newestAt.Sub(g.at) > s.least/4
}

func (s *sender) lose(g *sent) {
	g.lost = true
	s.inFlight--
	s.lost++
}

func (s *sender) sample(rtt time.Duration) {
	if s.least == 0 || rtt < s.least {
		s.least = rtt
	}
	if s.srtt == 0 {
		s.srtt, s.rttvar = rtt, rtt/2
		return
	}
	s.rttvar += ((s.srtt - rtt).Abs() - s.rttvar) / 4
	s.srtt += (rtt - s.srtt) / 8
}

func (s *sender) resendAfter() time.Duration {
	after := firstResend
	if s.srtt > 0 {
		after = s.srtt + max(4*s.rttvar, leastResend)
	}
	return min(after<<s.backoff, mostResend)
}

// timeout takes all that is under way for lost, and begins with one segment.
func (s *sender) timeout(now time.Time) {
	s.now = now
	if len(s.flight) == 0 || now.Before(s.timer) {
		return
	}
	for i := range s.flight {
		if g := &s.flight[i]; !g.acked && !g.lost {
			s.lose(g)
		}
	}
	s.window.restart()
	s.recovered = s.transmissions
	s.stats.Timeouts++
	s.backoff = min(s.backoff+1, 8)
	s.timer = now.Add(s.resendAfter())
}

// next returns when something is due, the zero time if nothing is.
func (s *sender) next() (at time.Time) {
	if len(s.flight) > 0 {
		at = s.timer
	}
	if s.rate > 0 && s.mayPoll() && (at.IsZero() || s.paced.Before(at)) {
		at = s.paced
	}
	return at
}

// mayPoll reports whether there is something to send, and room for it in the window.
func (s *sender) mayPoll() bool {
	more := s.lost > 0 || len(s.flight) < mostWindow && (s.endless || len(s.out) > 0)
	return more && s.inFlight < int(s.window.size)
}

// poll copies the next segment into buf.
func (s *sender) poll(buf []byte) (segment, transmission uint32, n int, ok bool) {
	if !s.mayPoll() || s.rate > 0 && s.now.Before(s.paced) {
		return 0, 0, 0, false
	}
	i := len(s.flight)
	if s.lost > 0 {
		for i = 0; !s.flight[i].lost; i++ {
		}
		s.lost--
		s.stats.Resent++
		s.resent += uint64(len(s.flight[i].data))
	} else {
		n := min(len(s.out), segmentBytes)
		s.flight = append(s.flight, sent{data: s.out[:n:n]})
		s.out = s.out[n:]
	}
	if s.inFlight == 0 {
		s.timer = s.now.Add(s.resendAfter())
	}
	s.transmissions++
	g := &s.flight[i]
	*g = sent{transmission: s.transmissions, at: s.now, data: g.data}
	s.inFlight++
	s.stats.Sent++
	if n = copy(buf, g.data); s.endless {
		n = segmentBytes
	}
	if s.rate > 0 {
		s.paced = s.now.Add(time.Duration(uint64(n+headerBytes) * uint64(time.Second) / s.rate))
	}
	return s.first + uint32(i), s.transmissions, n, true
}
