package stream

import (
	"math/rand/v2"
	"time"
)

// wire is a modelled TCP over one narrow link, in virtual time: what the system would know of it. What is written goes out in
// segments, as far as a window allows, and waits at the link. The peer acknowledges a second segment or an answer at once, and
// anything else after 40 ms, as systems do. A lost segment is sent again a round trip after one behind it has arrived.
type wire struct {
	rand  *rand.Rand
	now   time.Duration
	rate  int           // bytes a second; 0: no limit
	delay time.Duration // each way
	most  time.Duration // jitter, added to the delay of an acknowledgement
	loss  float64

	written, sent uint64
	segments      []segment // not acknowledged, in order
	free          time.Duration
	acks          []ack
	unacked       int           // segments that the peer has not acknowledged
	due           time.Duration // when it does; 0: there is nothing
	newest        time.Duration // when the last segment was sent that it got
	has           uint64        // bytes that it has without a gap
	answers       []uint64      // it answers at once when it has these

	arrivals
	last  time.Duration // the last acknowledgement
	waits []time.Duration
	taken uint64 // bytes that the link has carried
}

type segment struct {
	from, to      uint64
	sent, arrives time.Duration
	lost, got     bool
}

type ack struct {
	at     time.Duration
	upTo   uint64
	beyond uint64
	sent   time.Duration // when the last of them was
}

const (
	mss    = 1400
	window = 64 << 10
)

// put gives a segment to the link.
func (w *wire) put(s *segment) {
	start := max(w.now, w.free)
	w.waits = append(w.waits, start-w.now)
	w.free = start
	if w.rate > 0 {
		w.free += time.Duration(s.to-s.from+40) * time.Second / time.Duration(w.rate)
	}
	w.taken += s.to - s.from
	s.sent, s.arrives, s.lost = w.now, w.free+w.delay, w.rand.Float64() < w.loss
}

// write writes bytes, as one tick.
func (w *wire) write(n int) { w.written += uint64(n) }

// step lets a millisecond pass.
func (w *wire) step() {
	w.now += time.Millisecond
	for w.sent < w.written && w.sent-w.acked < window {
		s := segment{from: w.sent, to: min(w.sent+mss, w.written)}
		w.put(&s)
		w.sent = s.to
		w.segments = append(w.segments, s)
	}
	w.receive()
	for len(w.acks) > 0 && w.acks[0].at <= w.now {
		a := w.acks[0]
		w.acks = w.acks[1:]
		w.acked, w.beyond, w.last = max(w.acked, a.upTo), a.beyond, w.now
		if rtt := w.now - a.sent; a.sent > 0 {
			if w.least == 0 || rtt < w.least {
				w.least = rtt
			}
			if w.rtt == 0 {
				w.rtt = rtt
			}
			w.rtt += (rtt - w.rtt) / 8
		}
	}
	for len(w.segments) > 0 && w.segments[0].to <= w.acked {
		w.segments = w.segments[1:]
	}
}

// receive is the peer.
func (w *wire) receive() {
	gap, news := false, false
	for i := range w.segments {
		s := &w.segments[i]
		switch {
		case s.got:
		case s.arrives <= w.now && !s.lost:
			s.got, news = true, true
			w.newest = s.sent
			w.unacked++
		case s.lost && s.arrives+2*w.delay <= w.now && i+1 < len(w.segments), s.lost && s.arrives+200*time.Millisecond <= w.now:
			w.resent += s.to - s.from
			w.put(s)
		}
		if gap = gap || !s.got; !gap {
			w.has = max(w.has, s.to)
		}
	}
	if !news && (w.due == 0 || w.now < w.due) {
		return
	}
	answers := false
	for len(w.answers) > 0 && w.answers[0] <= w.has {
		w.answers, answers = w.answers[1:], true
	}
	var beyond uint64
	for i := range w.segments {
		if s := &w.segments[i]; s.got && s.from >= w.has {
			beyond += s.to - s.from
		}
	}
	if w.unacked < 2 && beyond == 0 && !answers && (w.due == 0 || w.now < w.due) {
		if w.due == 0 {
			w.due = w.now + 40*time.Millisecond
		}
		return
	}
	at := w.now + w.delay
	if w.most > 0 {
		at += time.Duration(w.rand.Int64N(int64(w.most)))
	}
	if n := len(w.acks); n > 0 {
		at = max(at, w.acks[n-1].at)
	}
	w.acks = append(w.acks, ack{at: at, upTo: w.has, beyond: beyond, sent: w.newest})
	w.unacked, w.due = 0, 0
}

// known is what the system knows. It counts the time since the last acknowledgement in steps of 4 ms.
func (w *wire) known() arrivals {
	a := w.arrivals
	a.ago = (w.now - w.last) / (4 * time.Millisecond) * (4 * time.Millisecond)
	return a
}

// watched is a player of 20 ticks a second, whose world needs so many bytes a tick.
type watched struct {
	flow   flow
	wire   wire
	needs  int
	own    int
	looks  int
	narrow int // ticks
	ticks  int
}

// run plays until a time.
func (p *watched) run(until time.Duration) {
	for p.wire.now < until {
		if p.wire.now%(50*time.Millisecond) == 0 {
			p.tick()
		}
		p.wire.step()
	}
}

func (p *watched) tick() {
	at := p.wire.now + 1
	p.flow.begin(at, p.wire.written, 0)
	if p.flow.wantsLook() {
		p.looks++
		p.flow.look(at, p.wire.known())
	}
	pace := p.flow.pace(at, max(int(p.wire.written-p.wire.sent)-maxUnsent, 0))
	p.ticks++
	if pace.Budget != unlimited {
		p.narrow++
	}
	n := max(p.own, min(p.needs, pace.Budget))
	if pace.Probe {
		n++
		p.wire.answers = append(p.wire.answers, p.wire.written+uint64(n))
	}
	p.flow.stamp(at)
	p.wire.write(n)
}

func newWatched(seed uint64, w wire, needs int) *watched {
	w.rand, w.now = rand.New(rand.NewPCG(seed, 1)), 50*time.Millisecond
	return &watched{wire: w, needs: needs, own: 60}
}

func mean(list []time.Duration) (sum time.Duration) {
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(max(len(list), 1))
}
