package blackbox

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// originLibrary behaves as the network library of the game whose clients the connector lobby serves: it has its cadences and its bounds,
// and shares no code with the server. It is pure: the same runs in virtual time and at a socket.
//
//   - A reliable package is resent after 220 ms, and up to half more, doubling; after six tries its target is lost.
//   - Confirmations are gathered for 100 ms or until there are 32, repeats included.
//   - A package that opens more than 1,024 holes is dropped and not confirmed. A semi-ordered one waits for all smaller ids.
//   - What is known of a target is kept for ten minutes after the last package from, or to, it.
type originLibrary struct {
	rng     *rand.Rand
	conns   map[netip.AddrPort]*originConn
	order   []netip.AddrPort // of conns, so that equal runs are equal
	out     []originDatagram
	deliver func(now time.Time, from netip.AddrPort, flags byte, payload []byte)
	failed  func(target netip.AddrPort)
}

type originDatagram struct {
	to netip.AddrPort
	b  []byte
}

// originConn is one target: what was sent to it, and what came. The two are forgotten apart.
type originConn struct {
	sent struct {
		used    time.Time
		next    uint32
		loose   uint32
		pending map[uint32]*originPending
	}
	came struct {
		used     time.Time
		any      bool
		highest  uint32
		holes    map[uint32]bool
		held     map[uint32]originHeld
		confirms []byte
		oldest   time.Time
	}
}

type originPending struct {
	b       []byte
	attempt int
	due     time.Time
}

type originHeld struct {
	flags   byte
	payload []byte
}

const (
	originBackoff  = 220 * time.Millisecond
	originTries    = 6
	originGather   = 100 * time.Millisecond
	originConfirms = 32
	originHoles    = 1024
	originKeep     = 600 * time.Second

	originUnreliable = 0x00
	originUnordered  = 0x20
	originSemi       = 0x40
	originServer     = 0x10
)

func newOriginLibrary(seed uint64) *originLibrary {
	return &originLibrary{rng: rand.New(rand.NewPCG(seed, 99)), conns: map[netip.AddrPort]*originConn{}}
}

func (l *originLibrary) conn(addr netip.AddrPort) *originConn {
	c := l.conns[addr]
	if c == nil {
		c = &originConn{}
		l.conns[addr] = c
		l.order = append(l.order, addr)
	}
	return c
}

// send sends a package in the mode, and to whom, that its flags say.
func (l *originLibrary) send(now time.Time, to netip.AddrPort, flags byte, payload []byte) {
	s := &l.conn(to).sent
	s.used = now
	id := s.loose
	if flags&(originUnordered|originSemi) != 0 {
		id = s.next
		s.next++
	} else {
		s.loose++
	}
	b := append([]byte{flags, byte(id >> 16), byte(id >> 8), byte(id)}, payload...)
	l.out = append(l.out, originDatagram{to, b})
	if flags&(originUnordered|originSemi) != 0 {
		if s.pending == nil {
			s.pending = map[uint32]*originPending{}
		}
		s.pending[id] = &originPending{b: b, due: now.Add(l.backoff(0))}
	}
}

func (l *originLibrary) backoff(attempt int) time.Duration {
	d := originBackoff << attempt
	return d + time.Duration(l.rng.Int64N(int64(d/2)))
}

// pending is how many packages are not confirmed.
func (l *originLibrary) pending() (n int) {
	for _, c := range l.conns {
		n += len(c.sent.pending)
	}
	return n
}

// HandleDatagram takes a datagram.
func (l *originLibrary) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if len(b) < 4 {
		return
	}
	id := uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	switch c := l.conn(from); {
	case b[0] == 0x80:
		c.sent.used = now
		for i := 4; i+3 <= len(b); i += 3 {
			delete(c.sent.pending, uint32(b[i])<<16|uint32(b[i+1])<<8|uint32(b[i+2]))
		}
	case b[0]&(originUnordered|originSemi) == 0:
		l.deliver(now, from, b[0], slices.Clone(b[4:]))
	default:
		l.received(now, from, c, id, b[0], slices.Clone(b[4:]))
	}
}

// received takes a reliable package: it is confirmed, repeats too, and delivered when nothing before it is missing, or at once.
func (l *originLibrary) received(now time.Time, from netip.AddrPort, c *originConn, id uint32, flags byte, payload []byte) {
	r := &c.came
	r.used = now
	repeat := false
	switch first := r.highest + 1; {
	case r.any && id <= r.highest:
		repeat = !r.holes[id]
		delete(r.holes, id)
	default:
		if !r.any {
			first = 0
		}
		if int(id-first)+len(r.holes) > originHoles {
			return
		}
		if r.holes == nil {
			r.holes, r.held = map[uint32]bool{}, map[uint32]originHeld{}
		}
		for n := first; n < id; n++ {
			r.holes[n] = true
		}
		r.any, r.highest = true, id
	}
	if len(r.confirms) == 0 {
		r.oldest = now
	}
	r.confirms = append(r.confirms, byte(id>>16), byte(id>>8), byte(id))
	if repeat {
		return
	}
	bound := r.highest + 1
	if len(r.holes) > 0 {
		bound = slices.Min(slices.Collect(maps.Keys(r.holes)))
	}
	if id < bound || flags&originSemi == 0 {
		l.deliver(now, from, flags, payload)
	} else {
		r.held[id] = originHeld{flags, payload}
	}
	for _, n := range slices.Sorted(maps.Keys(r.held)) {
		if n < bound {
			h := r.held[n]
			delete(r.held, n)
			l.deliver(now, from, h.flags, h.payload)
		}
	}
}

// HandleTimeout confirms, resends and forgets what is due.
func (l *originLibrary) HandleTimeout(now time.Time) {
	for _, addr := range l.order {
		c := l.conns[addr]
		if r := &c.came; len(r.confirms) > 0 && (len(r.confirms) >= 3*originConfirms || !now.Before(r.oldest.Add(originGather))) {
			for ; len(r.confirms) > 0; r.confirms = r.confirms[min(3*168, len(r.confirms)):] {
				l.out = append(l.out, originDatagram{addr, append([]byte{0x80, 0, 0, 0}, r.confirms[:min(3*168, len(r.confirms))]...)})
			}
			r.confirms = nil
		}
		for _, id := range slices.Sorted(maps.Keys(c.sent.pending)) {
			p := c.sent.pending[id]
			if now.Before(p.due) {
				continue
			}
			if p.attempt++; p.attempt == originTries {
				c.sent.pending, c.sent.next = nil, 0
				l.failed(addr)
				break
			}
			p.due = now.Add(l.backoff(p.attempt))
			l.out = append(l.out, originDatagram{addr, p.b})
		}
		if len(c.sent.pending) == 0 && !c.sent.used.IsZero() && now.Sub(c.sent.used) > originKeep {
			c.sent.next, c.sent.loose = 0, 0
		}
		if len(c.came.confirms) == 0 && c.came.any && now.Sub(c.came.used) > originKeep {
			c.came.any, c.came.highest, c.came.holes, c.came.held = false, 0, nil, nil
		}
	}
}

// NextTimeout is when there is something to do.
func (l *originLibrary) NextTimeout() (next time.Time, any bool) {
	sooner := func(at time.Time) {
		if !any || at.Before(next) {
			next, any = at, true
		}
	}
	for _, c := range l.conns {
		switch n := len(c.came.confirms); {
		case n >= 3*originConfirms:
			sooner(c.came.oldest)
		case n > 0:
			sooner(c.came.oldest.Add(originGather))
		}
		for _, p := range c.sent.pending {
			sooner(p.due)
		}
	}
	return next, any
}

// PollTransmit returns the next datagram.
func (l *originLibrary) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(l.out) == 0 {
		return 0, netip.AddrPort{}, false
	}
	d := l.out[0]
	l.out = l.out[1:]
	return copy(buf, d.b), d.to, true
}
