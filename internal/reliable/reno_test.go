package reliable

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// reno is a model of a TCP sender with Reno's congestion control and an endless
// supply of data: slow start, congestion avoidance, fast retransmit and
// recovery with selective acknowledgements, timeout. It shares a link with our
// bulk flow in the tests.
type reno struct {
	to      netip.AddrPort
	now     time.Time
	cwnd    float64 // packets
	thresh  float64
	next    uint32
	una     uint32
	acked   map[uint32]bool
	lost    map[uint32]bool // to be sent again
	sentAt  map[uint32]time.Time
	pipe    int
	high    uint32 // highest acknowledged
	recover uint32 // losses below this were answered
	srtt    time.Duration
	rttvar  time.Duration
	timer   time.Time
	backoff int
	started bool
}

// renoSink acknowledges every packet of a reno.
type renoSink struct {
	to   netip.AddrPort
	acks []uint32
	got  map[uint32]bool
	size int
}

const renoPacket = 1200

func newReno(to netip.AddrPort, now time.Time) *reno {
	return &reno{to: to, now: now, cwnd: 10, thresh: 1e9, acked: map[uint32]bool{}, lost: map[uint32]bool{}, sentAt: map[uint32]time.Time{}}
}

func (r *reno) HandleDatagram(now time.Time, _ netip.AddrPort, b []byte) {
	r.now = now
	n := binary.LittleEndian.Uint32(b)
	if r.acked[n] || n < r.una {
		return
	}
	if at, ok := r.sentAt[n]; ok && !r.lost[n] {
		r.pipe--
		r.sample(now.Sub(at))
	}
	r.acked[n] = true
	delete(r.lost, n)
	delete(r.sentAt, n)
	r.high = max(r.high, n)
	for r.acked[r.una] {
		delete(r.acked, r.una)
		r.una++
	}
	if n >= r.recover {
		if r.cwnd < r.thresh {
			r.cwnd++
		} else {
			r.cwnd += 1 / r.cwnd
		}
	}
	r.backoff = 0
	// Three packets above it acknowledged: lost.
	for i := r.una; i+3 <= r.high; i++ {
		if _, flying := r.sentAt[i]; flying && !r.lost[i] && r.now.Sub(r.sentAt[i]) > r.srtt*3/4 {
			r.lost[i] = true
			r.pipe--
			if i >= r.recover {
				r.thresh = max(r.cwnd/2, 2)
				r.cwnd = r.thresh
				r.recover = r.next
			}
		}
	}
	r.timer = now.Add(r.rto())
}

func (r *reno) sample(d time.Duration) {
	if r.srtt == 0 {
		r.srtt, r.rttvar = d, d/2
		return
	}
	r.rttvar += (abs(r.srtt-d) - r.rttvar) / 4
	r.srtt += (d - r.srtt) / 8
}

func (r *reno) rto() time.Duration {
	if r.srtt == 0 {
		return time.Second
	}
	return max(r.srtt+4*r.rttvar, 200*time.Millisecond) << r.backoff
}

func (r *reno) HandleTimeout(now time.Time) {
	r.now = now
	if r.timer.IsZero() || now.Before(r.timer) {
		return
	}
	r.thresh = max(r.cwnd/2, 2)
	r.cwnd = 1
	r.recover = r.next
	for i := range r.sentAt {
		r.lost[i] = true
	}
	r.pipe = 0
	r.backoff = min(r.backoff+1, 6)
	r.timer = now.Add(r.rto())
}

func (r *reno) NextTimeout() (time.Time, bool) { return r.timer, !r.timer.IsZero() }

func (r *reno) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if !r.started || r.pipe >= int(r.cwnd) {
		return 0, netip.AddrPort{}, false
	}
	n := r.next
	if len(r.lost) > 0 {
		for n = r.una; !r.lost[n]; n++ {
		}
		delete(r.lost, n)
	} else {
		r.next++
	}
	r.sentAt[n] = r.now
	r.pipe++
	if r.timer.IsZero() {
		r.timer = r.now.Add(r.rto())
	}
	binary.LittleEndian.PutUint32(buf, n)
	return renoPacket, r.to, true
}

func (s *renoSink) HandleDatagram(_ time.Time, _ netip.AddrPort, b []byte) {
	n := binary.LittleEndian.Uint32(b)
	s.acks = append(s.acks, n)
	if !s.got[n] {
		s.got[n] = true
		s.size += len(b)
	}
}

func (s *renoSink) HandleTimeout(time.Time)        {}
func (s *renoSink) NextTimeout() (time.Time, bool) { return time.Time{}, false }
func (s *renoSink) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(s.acks) == 0 {
		return 0, netip.AddrPort{}, false
	}
	binary.LittleEndian.PutUint32(buf, s.acks[0])
	s.acks = s.acks[1:]
	return 40, s.to, true
}
