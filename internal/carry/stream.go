package carry

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"parley/internal/pace"
	"parley/internal/stream"
)

// Pipe is the two ways of a stream, as a carrier has them.
type Pipe interface {
	// Read waits for bytes. It returns io.EOF when the peer has said that nothing more comes.
	Read(b []byte) (int, error)

	// Write sends all of b, and may wait for the peer.
	Write(b []byte) (int, error)

	// CloseWrite tells the peer that nothing more comes. The peer reads what came before.
	CloseWrite() error

	// Close ends the connection at once, with Read and Write. It must not block.
	Close() error
}

// What a turn has to report about a stream.
const (
	newsOpened = 1 << iota
	newsBytes
	newsWritable
	newsEnded
)

// StreamSession is the stream of one peer: a stream.Stream for the core.
type StreamSession struct {
	hall    *Hall
	opening Opening
	pipe    Pipe
	born    time.Time
	done    chan struct{}
	taken   chan struct{} // the bytes were taken

	// Guarded by hall.come.
	news   uint8
	queued bool

	mu        sync.Mutex
	out       []byte // what the pipe has not taken yet
	written   uint64 // bytes so far, those included
	since     time.Time
	running   bool // a goroutine writes
	finishing time.Time
	over      Why
	err       error
	closed    bool
	feed      *Session

	allowance allowance // of the goroutine that reads

	// Set by the goroutine that reads. Then owned by that of the turn until the bytes are taken.
	piece *[pieceBytes]byte
	in    []byte

	// Of the goroutine of the turn.
	core stream.Receiver
	deaf bool // only Ended is reported
	flow *stream.Flow
}

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// OpenStream begins a session of a stream, over a pipe that the session closes.
func (h *Hall) OpenStream(o Opening, p Pipe) (*StreamSession, error) {
	source := o.Source.Addr().Unmap()
	if !o.Admitted {
		if err := h.MayOpen(source); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	s := &StreamSession{hall: h, opening: o, pipe: p, born: now, done: make(chan struct{}), taken: make(chan struct{}, 1), allowance: allowance{left: maxBurst, at: now}}
	h.mu.Lock()
	if h.shut || !h.streamed.Load() {
		h.mu.Unlock()
		h.building.leave(source)
		h.counts.closed.Add(1)
		return nil, ErrClosed
	}
	h.streams[s] = struct{}{}
	h.kinds[o.Source] = o.Kind
	h.counts.open.Add(1)
	h.counts.opened.Add(1)
	h.mu.Unlock()
	s.report(newsOpened)
	return s, nil
}

// Done is closed when the session has ended and its pipe is closed.
func (s *StreamSession) Done() <-chan struct{} { return s.done }

// Feed begins the datagrams of the same peer, once. They end with the stream.
func (s *StreamSession) Feed(ready func()) (*Session, error) {
	o := s.opening
	o.Ready = ready
	feed, err := s.hall.open(o, true)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := s.closed
	s.feed = feed
	s.mu.Unlock()
	if closed {
		feed.Close()
	}
	return feed, nil
}

// Why returns why the session has ended. Call it after Done.
func (s *StreamSession) Why() Why { return s.over }

// report puts the stream on the list of the next turn.
func (s *StreamSession) report(news uint8) {
	h := s.hall
	h.come.Lock()
	s.news |= news
	first := false
	if !s.queued {
		s.queued = true
		h.news = append(h.news, s)
		first = len(h.news) == 1
	}
	wake := h.wakeNews
	h.come.Unlock()
	if first && wake != nil {
		wake()
	}
}

// read hands over what comes until the stream ends.
func (s *StreamSession) read() {
	for {
		buf := pieces.Get().(*[pieceBytes]byte)
		n, err := s.pipe.Read(buf[:])
		if err == nil && !s.allowance.spend(time.Now()) {
			n, err = 0, ErrFlood
		}
		switch {
		case n > 0 && !s.isFinishing():
			s.piece, s.in = buf, buf[:n]
			s.report(newsBytes)
			select {
			case <-s.taken:
			case <-s.done:
				return
			}
		default:
			pieces.Put(buf)
		}
		if err != nil {
			switch {
			case errors.Is(err, ErrWrong):
				s.note(Wrong)
			case errors.Is(err, ErrFlood):
				s.note(Flood)
			}
			s.close(err)
			return
		}
	}
}

// ErrWrong is in the error of a Pipe whose peer has broken the carrier's rules.
var ErrWrong = errors.New("carry: malformed")

// ErrFlood is the error of a Pipe whose peer sends too many messages.
var ErrFlood = errors.New("carry: too many messages")

func (s *StreamSession) isFinishing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.finishing.IsZero()
}

// note notes why the stream ends, if nothing was noted before.
func (s *StreamSession) note(why Why) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == 0 {
		s.over = why
	}
}

// end ends the stream for a reason of ours.
func (s *StreamSession) end(why Why) {
	s.note(why)
	s.close(net.ErrClosed)
}

// close closes the pipe and reports the end, once.
func (s *StreamSession) close(err error) {
	h := s.hall
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed, s.err = true, err
	if s.over == 0 {
		s.over = Left
		if !s.finishing.IsZero() {
			s.over = Done
		}
	}
	why, feed := s.over, s.feed
	s.mu.Unlock()
	s.pipe.Close()
	if feed != nil {
		feed.Close()
	}
	h.mu.Lock()
	delete(h.streams, s)
	delete(h.kinds, s.opening.Source)
	h.mu.Unlock()
	h.building.leave(s.opening.Source.Addr().Unmap())
	h.counts.ended[why].Add(1)
	h.counts.open.Add(-1)
	close(s.done)
	h.signal()
	s.report(newsEnded)
}

// sweep ends the stream if a time limit is over.
func (s *StreamSession) sweep(now time.Time) {
	s.mu.Lock()
	var why Why
	switch {
	case len(s.out) > 0 && now.Sub(s.since) >= stuckTime:
		why = Stuck
	case !s.finishing.IsZero() && now.Sub(s.finishing) >= leaveTime:
		why = Done
	}
	s.mu.Unlock()
	if why != 0 {
		s.end(why)
	}
}

// Peer is that of stream.Stream: the true address.
func (s *StreamSession) Peer() netip.AddrPort { return s.opening.Source }

// Born is that of stream.Stream.
func (s *StreamSession) Born() time.Time { return s.born }

// Carrier is that of stream.Stream.
func (s *StreamSession) Carrier() string { return s.opening.Kind.String() }

// Entered is that of stream.Stream. Sessions are counted from their beginning to their end.
func (s *StreamSession) Entered() {}

// Ready is that of stream.Stream.
func (s *StreamSession) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.out) == 0
}

// Send is that of stream.Stream.
func (s *StreamSession) Send(b []byte) {
	if s.deaf || len(b) == 0 {
		return
	}
	if s.flow != nil {
		s.flow.Stamp(s.clock(time.Now()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if len(s.out) == 0 {
		s.since = time.Now()
	}
	s.out = append(s.out, b...)
	s.written += uint64(len(b))
	if !s.running {
		s.running = true
		s.hall.group.Go(s.flush)
	}
}

// flush writes what waits.
func (s *StreamSession) flush() {
	s.mu.Lock()
	for len(s.out) > 0 && !s.closed {
		b := s.out
		s.mu.Unlock()
		n, err := s.pipe.Write(b)
		if err != nil {
			s.close(err)
		}
		s.mu.Lock()
		s.since = time.Now()
		if s.out = s.out[n:]; len(s.out) > 0 && err != nil {
			break
		}
	}
	if s.out = nil; s.closed || s.finishing.IsZero() {
		s.running = false
		s.mu.Unlock()
		s.report(newsWritable)
		return
	}
	s.mu.Unlock() // nothing starts another: the stream is finished
	_ = s.pipe.CloseWrite()
}

// Finish is that of stream.Stream.
func (s *StreamSession) Finish() {
	if s.deaf {
		return
	}
	s.deaf = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishing = time.Now()
	if !s.running && !s.closed {
		s.running = true
		s.hall.group.Go(s.flush)
	}
}

// Cut is that of stream.Stream.
func (s *StreamSession) Cut() {
	s.deaf = true
	s.end(Done)
}

// clock returns a time as a flow has it.
func (s *StreamSession) clock(now time.Time) time.Duration { return max(now.Sub(s.born), 0) + 1 }

// Pace is that of stream.Stream. What the pipe has taken counts as arrived: its buffer is bounded, so it takes no more than the path does.
func (s *StreamSession) Pace(now time.Time, beside int) stream.Pace {
	if s.flow == nil {
		s.flow = new(stream.Flow)
	}
	at := s.clock(now)
	s.mu.Lock()
	written, pending := s.written, len(s.out)
	s.mu.Unlock()
	if s.flow.Begin(at, written, beside) {
		s.flow.Look(at, stream.Arrivals{Acked: written - uint64(pending), RTT: time.Millisecond, Least: time.Millisecond})
	}
	return s.flow.Pace(at, pending)
}

// Estimate is that of stream.Stream.
func (s *StreamSession) Estimate() pace.Estimate {
	if s.flow == nil {
		return new(pace.Path).Estimate()
	}
	return s.flow.Estimate()
}

var _ stream.Stream = (*StreamSession)(nil)
