package carry

import (
	"net/netip"
	"sync"
	"time"

	"parley/internal/datagram"
)

// Session is the datagrams of one peer. Deliver, Next, Batch and Close are for its carrier, on any goroutines.
type Session struct {
	hall    *Hall
	opening Opening
	addr    netip.AddrPort // made up, for the core
	largest int
	born    time.Time
	beside  bool // it is the feed of a stream

	mu        sync.Mutex
	in        letters // for the core
	listed    bool    // among hall.arrivals
	out       letters // for the peer
	since     time.Time
	welcome   bool // the core has a connection of it
	leaving   time.Time
	over      Why  // it must end
	closed    bool // Close was called
	mourned   bool // the core was told, or need not be
	allowance allowance

	touched bool // of the loop's goroutine: the write under way has put something
}

// Addr returns the address by which the core knows the peer.
func (s *Session) Addr() netip.AddrPort { return s.addr }

// Source returns the peer's true address.
func (s *Session) Source() netip.AddrPort { return s.opening.Source }

// Deliver hands a datagram of the peer to the core. It does not wait and does not keep b. A datagram that is too large, or comes while too
// many wait, is dropped and counted. It reports false if the session must end.
func (s *Session) Deliver(b []byte) bool {
	list, ok := s.take(time.Now(), b)
	if list {
		s.hall.list(s)
	}
	return ok
}

// take puts a datagram of the peer into its queue. list reports that the core does not know yet: the session is to be put on the hall's list.
func (s *Session) take(now time.Time, b []byte) (list, ok bool) {
	h := s.hall
	large := len(b) > s.largest
	if large {
		h.counts.inLarge.Add(1)
	}
	s.mu.Lock()
	if s.closed || s.over != 0 {
		s.mu.Unlock()
		return false, false
	}
	if !s.allowance.spend(now) {
		s.mu.Unlock()
		s.end(Flood)
		return false, false
	}
	switch {
	case large || !s.leaving.IsZero():
	case s.in.held()+letterHead+len(b) > maxCome:
		h.counts.inFull.Add(1)
	default:
		s.in.put(b)
		list = !s.listed
		s.listed = true
	}
	s.mu.Unlock()
	return list, true
}

// Spend counts a message that is no datagram, such as a ping, or a part of a message. It reports false if the session must end.
func (s *Session) Spend() bool {
	s.mu.Lock()
	if s.closed || s.over != 0 {
		s.mu.Unlock()
		return false
	}
	ok := s.allowance.spend(time.Now())
	s.mu.Unlock()
	if !ok {
		s.end(Flood)
	}
	return ok
}

// list puts sessions on the list of those with something for the core, which does not have them.
func (h *Hall) list(s ...*Session) {
	h.come.Lock()
	first, wake := len(h.arrivals) == 0, h.wake
	h.arrivals = append(h.arrivals, s...)
	h.come.Unlock()
	if first && wake != nil {
		wake()
	}
}

// Next moves the oldest datagram for the peer into buf, which has room for MaxDatagram bytes. It reports false if there is none.
func (s *Session) Next(buf []byte) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.len() == 0 {
		return 0, false
	}
	n = copy(buf, s.out.first())
	s.took(n)
	return n, true
}

// Batch appends datagrams for the peer to b, each behind what head appends for its size, while b has at most limit bytes. So one write
// carries many.
func (s *Session) Batch(b []byte, limit int, head func(b []byte, n int) []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.out.len() > 0 && len(b) <= limit {
		p := s.out.first()
		b = append(head(b, len(p)), p...)
		s.took(len(p))
	}
	return b
}

// took counts the oldest datagram as taken. s.mu is held.
func (s *Session) took(n int) {
	s.out.drop()
	s.since = time.Now()
	s.hall.counts.out.Add(1)
	s.hall.counts.outBytes.Add(uint64(n))
}

// Leaving reports that the session is over when all that waits has gone out: the carrier then says goodbye and closes. Ask before Next: what waits
// when it is true is the last.
func (s *Session) Leaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.leaving.IsZero()
}

// Over returns why the session must end at once, 0 if it need not.
func (s *Session) Over() Why {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// put puts a datagram for the peer into the queue.
func (s *Session) put(b []byte) {
	h := s.hall
	if len(b) > s.largest {
		h.counts.outLarge.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.over != 0 {
		h.counts.outGone.Add(1)
		return
	}
	for s.out.held()+letterHead+len(b) > maxWaiting {
		s.out.drop()
		h.counts.outOld.Add(1)
	}
	if s.out.len() == 0 {
		s.since = time.Now()
	}
	s.out.put(b)
}

// End asks for the end of the session, for a reason. The carrier calls Close when its connection is over.
func (s *Session) End(why Why) { s.end(why) }

func (s *Session) end(why Why) {
	s.mu.Lock()
	first := s.over == 0 && !s.closed
	if first {
		s.over = why
	}
	s.mu.Unlock()
	if first && s.opening.End != nil {
		s.opening.End(why)
	}
}

// leave has the session end when what waits has gone out.
func (s *Session) leave() {
	s.mu.Lock()
	first := s.leaving.IsZero() && !s.closed
	if first {
		s.leaving = time.Now()
		s.in.empty()
	}
	s.mu.Unlock()
	if first {
		s.opening.Ready()
	}
}

// Close says that the session's connection is over. The core is told, behind what came before. Further calls have no effect.
func (s *Session) Close() {
	h := s.hall
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	why := s.over
	if why == 0 {
		why = Left
		if !s.leaving.IsZero() {
			why = Done
		}
	}
	h.counts.outGone.Add(uint64(s.out.len()))
	s.out.empty()
	s.mourned = !s.leaving.IsZero()
	list := !s.listed
	s.listed = true
	s.mu.Unlock()
	if !s.beside {
		h.counts.ended[why].Add(1)
		h.counts.open.Add(-1)
		h.building.leave(s.opening.Source.Addr().Unmap())
		h.signal()
	}
	if list {
		h.list(s)
	}
}

// sweep ends the session if a time limit is over.
func (s *Session) sweep(now time.Time) {
	s.mu.Lock()
	var why Why
	switch {
	case s.closed || s.over != 0:
	case !s.leaving.IsZero():
		if now.Sub(s.leaving) >= leaveTime {
			why = Done
		}
	case s.out.len() > 0 && now.Sub(s.since) >= stuckTime:
		why = Stuck
	case !s.welcome && now.Sub(s.born) >= silentTime:
		why = Silent
	}
	s.mu.Unlock()
	if why != 0 {
		s.end(why)
	}
}

// drain moves what came into a batch whose memory is arena, and returns how much of that is used. more reports that something is left.
// At the end of the session it adds that.
func (s *Session) drain(now time.Time, batch *datagram.RecvBatch, arena []byte, room int) (used, count int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	banned := s.in.len() > 0 && s.hall.door.Shuts(now, s.opening.Source.Addr().Unmap())
	for s.in.len() > 0 && count < min(turnShare, room) && used+MaxDatagram <= len(arena) {
		n := copy(arena[used:], s.in.first())
		s.in.drop()
		if banned {
			continue
		}
		batch.Add(s.addr, arena[used:used+n], 0)
		s.hall.counts.in.Add(1)
		s.hall.counts.inBytes.Add(uint64(n))
		used += n
		count++
	}
	switch {
	case s.in.len() > 0:
		return used, count, true
	case !s.closed:
		s.listed = false
		return used, count, false
	case !s.mourned && count == min(turnShare, room):
		return used, count, true
	case !s.mourned:
		s.mourned = true
		batch.AddGone(s.addr)
		count++
	}
	return used, count, false
}

// isOver reports whether the session is closed and nothing of it is left for the core.
func (s *Session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && s.mourned && s.in.len() == 0
}

// Allowance bounds the messages of a Pipe that hands on several with one Read. Use NewAllowance.
type Allowance struct{ of allowance }

// NewAllowance returns what a new session may send.
func NewAllowance() Allowance { return Allowance{allowance{left: maxBurst, at: time.Now()}} }

// Spend counts a message. It reports false if that is too many: then Read returns ErrFlood.
func (a *Allowance) Spend() bool { return a.of.spend(time.Now()) }

// allowance bounds how many messages come in a second.
type allowance struct {
	left int
	at   time.Time
}

func (a *allowance) spend(now time.Time) bool {
	if a.left == 0 || now.Sub(a.at) >= time.Second {
		if more := int(min(now.Sub(a.at), time.Minute) * maxRate / time.Second); more > 0 {
			a.left, a.at = min(a.left+more, maxBurst), now
		}
	}
	if a.left == 0 {
		return false
	}
	a.left--
	return true
}
