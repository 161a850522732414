package tcp

import (
	"encoding/binary"
	"net/netip"
	"time"
)

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
	to      netip.AddrPort
	started bool
	now     time.Time
	window  window

	first    uint32    // the number of flight[0]
	flight   []segment // sent and not acknowledged up to here
	inFlight int       // of them, neither acknowledged nor lost
	lost     int       // of them, to be sent again

	transmissions uint32 // so far; each has a number
	newest        uint32 // the latest that is known to have arrived
	recovered     uint32 // losses of transmissions up to this have been answered

	srtt, rttvar time.Duration
	backoff      int
	timer        time.Time
	stats        Stats
}

type segment struct {
	transmission uint32 // the latest of it
	at           time.Time
	acked, lost  bool
}

func newSender(to netip.AddrPort, c Control) *sender { return &sender{to: to, window: newWindow(c)} }

func (s *sender) HandleDatagram(now time.Time, _ netip.AddrPort, b []byte) {
	s.now = now
	a := ack{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
	acked := 0
	if i := int(a.segment - s.first); a.segment >= s.first && i < len(s.flight) {
		if g := &s.flight[i]; !g.acked && g.transmission == a.transmission {
			s.sample(now.Sub(g.at))
		}
		acked += s.arrived(&s.flight[i])
	}
	for ; s.first < a.next && len(s.flight) > 0; s.first++ { // an acknowledgement that was lost said so before
		acked += s.arrived(&s.flight[0])
		s.flight = s.flight[1:]
	}
	s.newest = max(s.newest, a.transmission)
	s.findLosses()
	if acked > 0 {
		s.backoff = 0
		s.timer = now.Add(s.resendAfter())
		if a.transmission > s.recovered {
			s.window.grow(now, acked, s.srtt)
		}
	}
}

// arrived takes a segment off what is under way, and returns 1 if that is news.
func (s *sender) arrived(g *segment) int {
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
		if g := &s.flight[i]; !g.acked && !g.lost && g.transmission+reordering <= s.newest {
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

func (s *sender) lose(g *segment) {
	g.lost = true
	s.inFlight--
	s.lost++
}

func (s *sender) sample(rtt time.Duration) {
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

// HandleTimeout takes all that is under way for lost, and begins with one segment.
func (s *sender) HandleTimeout(now time.Time) {
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

func (s *sender) NextTimeout() (time.Time, bool) { return s.timer, len(s.flight) > 0 }

func (s *sender) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if !s.started || s.inFlight >= int(s.window.size) || s.lost == 0 && len(s.flight) >= mostWindow {
		return 0, netip.AddrPort{}, false
	}
	i := len(s.flight)
	if s.lost > 0 {
		for i = 0; !s.flight[i].lost; i++ {
		}
		s.lost--
		s.stats.Resent++
	} else {
		s.flight = append(s.flight, segment{})
	}
	if s.inFlight == 0 {
		s.timer = s.now.Add(s.resendAfter())
	}
	s.transmissions++
	s.flight[i] = segment{transmission: s.transmissions, at: s.now}
	s.inFlight++
	s.stats.Sent++
	binary.BigEndian.PutUint32(buf, s.first+uint32(i))
	binary.BigEndian.PutUint32(buf[4:], s.transmissions)
	return headerBytes + segmentBytes, s.to, true
}
