package reliable

import (
	"time"

	"parley/internal/pace"
)

// path is the estimate of what the path takes, and what it needs that a Sender does not keep otherwise. It is made with
// the first call of Budget: a client, and a server's connection that has not entered, has none.
type path struct {
	born  time.Duration // of the Sender, on the Pool's clock: all its paths have one time
	reach reach
	pace.Path
	late  [lateKept]lateFlight // a ring of the newest
	place uint8
	floor time.Duration // Floor
}

// lateFlight is a packet that was reported lost, and may only be late. Without it, no packet would show that the round trip has
// grown past the resend delay: a reported packet is forgotten when its timer runs out, before its acknowledgement can come.
type lateFlight struct {
	number uint64
	first  time.Duration // when it was sent
	size   uint16        // as it counts on the path; 0 if there is none
	bytes  uint16        // of the packet alone
	fast   bool          // later ones were acknowledged first
}

// Budget returns how many bytes of values the tick that begins now may send, headers included, and pace.Unlimited on a path
// that holds nothing back. Call it once a tick. If it is 0, only values that a player cannot do without are sent.
//
// While values of an earlier tick wait for the window, it is 0: values that wait grow old, and newer ones would wait behind them.
func (s *Sender) Budget(now time.Time) int {
	at := s.at(now)
	if s.path == nil {
		s.path = &path{born: s.pool.since(now) - at}
		if s.rtt.least > 0 { // the handshake has shown how long an empty path takes
			s.path.Acked(s.path.born+at, s.rtt.least, 0)
		}
	}
	n, reach := s.path.Budget(s.path.born+at), s.path.reach.budget(at, s.rtt.smoothed)
	if s.values > 0 {
		return 0
	}
	if s.path.Narrow() {
		return n
	}
	if s.path.reach.late == manyLate {
		s.path.Late(s.path.born + at)
	}
	return min(n, reach)
}

// Path returns what is known of the path.
func (s *Sender) Path() pace.Estimate {
	if s.path == nil {
		return pace.Estimate{Budget: pace.Unlimited}
	}
	return s.path.Estimate()
}

// Narrow reports whether the path holds back what is sent on it.
func (s *Sender) Narrow() bool { return s.path != nil && s.path.Narrow() }

// Competing reports whether somebody else fills the queue of the path, and nothing but loss says that we send too much.
func (s *Sender) Competing() bool { return s.path != nil && s.path.Competing() }

// Beside counts a datagram of n bytes, without headers of IP and UDP, that goes out beside what Poll returns: an acknowledgement, or an
// unreliable packet.
func (s *Sender) Beside(now time.Time, n int) {
	if s.path != nil {
		s.path.Sent(n + s.cfg.Overhead)
	}
}

// BesideAcked says that n bytes of what went out Beside have arrived, or that this is not known to be otherwise, and that a datagram
// of no size behind them took rtt, 0 if that is not known. It is for a dialect that acknowledges none of them, but something that it sends
// behind them.
func (s *Sender) BesideAcked(now time.Time, rtt time.Duration, n int) {
	if s.path == nil {
		return
	}
	at := s.path.born + s.at(now)
	s.path.Acked(at, 0, n)
	if rtt > 0 {
		s.sampled(rtt)
		rtt = max(rtt, s.path.floor)
		s.path.Acked(at, rtt, 0)
		s.path.Acked(at, rtt, 0) // ahead of a tick's packets it has waited as long as the earliest of several
	}
}

// Floor has the path told of no shorter round trips than this, for a peer that gathers acknowledgements: those that it happens to send at once would
// make the others look late.
func (s *Sender) Floor(d time.Duration) {
	if s.path != nil {
		s.path.floor = d
	}
}

// Found tells the path what the dialect has measured itself: see pace.Path.Found.
func (s *Sender) Found(now time.Time, rate int64, queue time.Duration) {
	if s.path != nil {
		s.path.Found(s.path.born+s.at(now), rate, queue)
	}
}

// BesideLost says that n bytes of what went out Beside are taken for lost.
func (s *Sender) BesideLost(now time.Time, n int) {
	if s.path != nil {
		s.path.Lost(s.path.born+s.at(now), n)
	}
}

// sent tells the path of a transmission.
func (s *Sender) sent(e *flight) {
	if s.path == nil {
		return
	}
	s.path.Sent(s.cost(e))
	s.told += uint32(s.cost(e))
	if e.report && e.state == flying {
		s.path.reach.sent(int32(len(e.data)))
	}
}

// acked tells the path of a packet that has arrived.
func (s *Sender) acked(at, rtt time.Duration, e *flight) {
	if s.path != nil {
		s.path.reach.arrived(e, rtt)
		if rtt > 0 {
			rtt = max(rtt, s.path.floor)
		}
		if s.bundles { // the time is that of the whole datagram, and told once
			s.path.Acked(s.path.born+at, 0, s.cost(e))
			if e.whole > 0 {
				s.path.Timed(s.path.born+at, rtt, int(e.whole))
			}
			return
		}
		s.path.Acked(s.path.born+at, rtt, s.cost(e))
	}
}

// lost tells the path, and the congestion window, of a packet that is taken for lost.
func (s *Sender) lost(at time.Duration, e *flight, fast bool) {
	s.cong.lostPacket(at, len(e.data), e.tx, s.tx)
	if s.path == nil {
		return
	}
	s.path.Lost(s.path.born+at, s.cost(e))
	if e.report {
		s.path.reach.lost(e, fast)
		s.path.late[s.path.place%lateKept] = lateFlight{e.number, e.first, uint16(s.cost(e)), uint16(len(e.data)), fast}
		s.path.place++
	}
}

// cameLate takes the acknowledgement of a packet that was reported lost. Its number was sent once, so it is a sample of the round
// trip.
func (s *Sender) cameLate(at time.Duration, n uint64) {
	if s.path == nil {
		return
	}
	for i := range s.path.late {
		if l := &s.path.late[i]; l.number == n && l.size > 0 {
			rtt := at - l.first
			if l.fast {
				s.overtaken(rtt)
			}
			s.sampled(rtt)
			s.path.Acked(s.path.born+at, rtt, int(l.size))
			s.path.reach.doubt = max(s.path.reach.doubt-int32(l.bytes), 0)
			*l = lateFlight{}
			return
		}
	}
}
