package kit

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/internal/pace"
	"parley/internal/stream"
)

// Sessions is a carrier of streams that is no socket: pipes in memory, beside another carrier.
type Sessions struct {
	stream.Carrier
	wake  func()
	group sync.WaitGroup

	mu   sync.Mutex
	news []func(now time.Time, h stream.Handler) // for Turn
	all  []*piped

	again []*piped // owned by Turn's goroutine: with bytes that were not taken
}

// BesideTCP returns what a server takes for the carrier of its sockets. s brings the streams of both.
func (s *Sessions) BesideTCP(socket net.Listener, c stream.Config) stream.Carrier {
	s.Carrier = stream.Serve(socket, c)
	return s
}

func (s *Sessions) Start(wake func()) {
	s.wake = wake
	s.Carrier.Start(wake)
}

func (s *Sessions) Turn(now time.Time, h stream.Handler) {
	s.Carrier.Turn(now, h)
	again := s.again
	s.again = nil
	for _, x := range again {
		x.offer(now)
	}
	s.mu.Lock()
	news := s.news
	s.news = nil
	s.mu.Unlock()
	for _, tell := range news {
		tell(now, h)
	}
}

// tell has Turn call f.
func (s *Sessions) tell(f func(now time.Time, h stream.Handler)) {
	s.mu.Lock()
	s.news = append(s.news, f)
	s.mu.Unlock()
	s.wake()
}

func (s *Sessions) Close() {
	s.Carrier.Close()
	for _, x := range s.all {
		x.Cut()
	}
	s.group.Wait()
}

// Open opens a session and returns the peer's end. Call it before Close, from one goroutine.
func (s *Sessions) Open() net.Conn {
	near, far := net.Pipe()
	x := &piped{
		carrier: s, conn: near, born: time.Now(), peer: netip.AddrPortFrom(netip.MustParseAddr("fd70:6172:6c65:7900::1"), uint16(len(s.all)+1)),
		taken: make(chan struct{}), out: make(chan []byte, 2), over: make(chan struct{}), ready: true,
	}
	s.all = append(s.all, x)
	s.tell(func(now time.Time, h stream.Handler) {
		if x.core = h.Opened(now, x); x.core == nil {
			x.Cut()
		}
	})
	s.group.Go(x.read)
	s.group.Go(x.write)
	return far
}

// piped is one of them.
type piped struct {
	carrier *Sessions
	conn    net.Conn
	peer    netip.AddrPort
	born    time.Time
	taken   chan struct{} // the reader may go on
	out     chan []byte   // to write; nil closes
	over    chan struct{}
	once    sync.Once

	// Owned by Turn's goroutine.
	core   stream.Receiver
	rest   []byte // that the core has not taken
	ready  bool
	closes bool // Finish or Cut was called
}

// read hands over what comes, a buffer at a time, and in the end that there is no more.
func (x *piped) read() {
	for buf := make([]byte, 4096); ; {
		n, err := x.conn.Read(buf)
		if n > 0 {
			x.carrier.tell(func(now time.Time, _ stream.Handler) {
				x.rest = buf[:n]
				x.offer(now)
			})
			select {
			case <-x.taken:
			case <-x.over:
				err = io.ErrClosedPipe
			}
		}
		if err != nil {
			x.end()
			x.carrier.tell(func(now time.Time, _ stream.Handler) {
				if x.core != nil {
					x.core.Ended(now, err)
				}
			})
			return
		}
	}
}

// offer hands over the rest. What is not taken is for the next turn.
func (x *piped) offer(now time.Time) {
	if x.closes {
		return
	}
	if n := x.core.Received(now, x.rest); n < len(x.rest) {
		x.rest = x.rest[n:]
		x.carrier.again = append(x.carrier.again, x)
		return
	}
	select {
	case x.taken <- struct{}{}:
	case <-x.over:
	}
}

func (x *piped) write() {
	for {
		select {
		case b := <-x.out:
			if b == nil {
				x.end()
				return
			}
			x.conn.Write(b) // the reader learns of an error
			x.carrier.tell(func(now time.Time, _ stream.Handler) {
				if x.ready = true; !x.closes {
					x.core.Writable(now)
				}
			})
		case <-x.over:
			return
		}
	}
}

// end closes the pipe. More calls do nothing.
func (x *piped) end() {
	x.once.Do(func() {
		close(x.over)
		x.conn.Close()
	})
}

func (x *piped) Carrier() string { return "tcp" }

func (x *piped) Peer() netip.AddrPort { return x.peer }
func (x *piped) Born() time.Time      { return x.born }
func (x *piped) Entered()             {}
func (x *piped) Ready() bool          { return x.ready }

func (x *piped) Send(b []byte) {
	x.ready = false
	x.out <- append([]byte{}, b...)
}

// Pace and Estimate are those of a path that is never narrow.
func (x *piped) Pace(time.Time, int) stream.Pace { return stream.Pace{Budget: pace.Unlimited} }
func (x *piped) Estimate() pace.Estimate         { return pace.Estimate{Budget: pace.Unlimited} }

func (x *piped) Finish() {
	if !x.closes {
		x.closes = true
		x.out <- nil
	}
}

func (x *piped) Cut() {
	x.closes = true
	x.end()
}

// ReadUntil reads a byte at a time until done says that it was the last.
func ReadUntil(t testing.TB, c net.Conn, done func(b []byte) bool) {
	t.Helper()
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			t.Error(err)
			return
		}
		if done(b) {
			return
		}
	}
}
