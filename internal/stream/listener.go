package stream

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/admission"
)

// ErrClosed means that the listener or the loop is closed.
var ErrClosed = errors.New("stream: closed")

// errCut is the error of a connection that has more than maxPending bytes to write.
var errCut = errors.New("stream: cut")

// Config sets up a Listener. It is not changed after use.
type Config struct {
	// TLS, if set, makes each connection a TLS server with this configuration.
	TLS *tls.Config

	// Wake is called, by any goroutine, when Turn has something to do. It must not block.
	Wake func()

	// Waiting bounds the connections that have not entered: see Conn.Entered. The zero value means the defaults.
	// If the limit for a host is off, its handshakes have no limit either.
	Waiting admission.PorchConfig

	// HandshakeTime is the time limit of a handshake. Default DefaultHandshakeTime.
	HandshakeTime time.Duration

	// Linger is how long Finish waits for the peer. Default DefaultLinger.
	Linger time.Duration
}

// Handler has the methods that Turn calls, on the goroutine that called Turn. For each connection, Opened is
// called once and first, Ended once and last. After Finish or Cut only Ended is called.
type Handler interface {
	// Opened reports a connection that can carry bytes.
	Opened(now time.Time, c *Conn)

	// Received hands over bytes, which are valid only during the call.
	Received(now time.Time, c *Conn, b []byte)

	// Writable reports that c is Ready again after it was not.
	Writable(now time.Time, c *Conn)

	// Ended reports that nothing more comes. err is io.EOF if the peer closed its side.
	Ended(now time.Time, c *Conn, err error)
}

// Stats counts the fate of each connection.
type Stats struct {
	Accepted   uint64 // by the system
	Opened     uint64 // passed to Opened
	BadShake   uint64 // closed because their handshake failed or took too long
	Hasty      uint64 // closed because their host or network began too many handshakes
	Crowded    uint64 // closed because too many had not entered: from their host, from its network, or in all
	AcceptErrs uint64 // times that accepting failed and was tried again
}

// Listener accepts connections. Turn is for one goroutine, all other methods are for any.
type Listener struct {
	config Config
	socket *net.TCPListener
	closed chan struct{}
	group  sync.WaitGroup

	handshakes *Handshakes // nil: plain TCP

	mu    sync.Mutex
	news  []*Conn // connections with something for Turn
	porch *admission.Porch[*Conn]
	conns map[*Conn]struct{} // all connections whose goroutine runs

	turn []*Conn // owned by Turn's goroutine

	accepted, opened, badShake, hasty, crowded, acceptErrs atomic.Uint64
}

// Listen listens on addr, written host:port.
func Listen(addr string, c Config) (*Listener, error) {
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return Serve(socket.(*net.TCPListener), c), nil
}

// Serve is Listen for a socket that is already open. It owns the socket from now on.
func Serve(socket *net.TCPListener, c Config) *Listener {
	if c.HandshakeTime <= 0 {
		c.HandshakeTime = DefaultHandshakeTime
	}
	if c.Linger <= 0 {
		c.Linger = DefaultLinger
	}
	l := &Listener{config: c, socket: socket, closed: make(chan struct{}), conns: map[*Conn]struct{}{}, porch: admission.NewPorch[*Conn](c.Waiting)}
	if c.TLS != nil {
		l.handshakes = NewHandshakes(c.TLS, c.Waiting.Host >= 0)
	}
	l.group.Add(1)
	go l.accept()
	return l
}

// Addr returns the address that the listener listens on.
func (l *Listener) Addr() netip.AddrPort {
	return l.socket.Addr().(*net.TCPAddr).AddrPort()
}

// Stats returns the counters as they are now.
func (l *Listener) Stats() Stats {
	return Stats{Accepted: l.accepted.Load(), Opened: l.opened.Load(), BadShake: l.badShake.Load(), Hasty: l.hasty.Load(), Crowded: l.crowded.Load(),
		AcceptErrs: l.acceptErrs.Load()}
}

// Stop stops accepting. Connections go on.
func (l *Listener) Stop() { l.socket.Close() }

// Close stops accepting, cuts all connections and waits for their goroutines. Turn must not be running, and must not
// be called again.
func (l *Listener) Close() {
	l.socket.Close()
	l.mu.Lock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	for c := range l.conns {
		c.hangUp()
	}
	l.mu.Unlock()
	l.group.Wait()
}

// accept accepts connections until the socket is closed. It never waits for a peer.
func (l *Listener) accept() {
	defer l.group.Done()
	pause := firstPause
	for {
		socket, err := l.socket.AcceptTCP()
		switch {
		case err == nil:
			pause = firstPause
			l.accepted.Add(1)
			l.begin(socket)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// No descriptors, no memory, or a peer that is gone already: none of these lasts.
			l.acceptErrs.Add(1)
			if !l.rest(pause) {
				return
			}
			pause = min(2*pause, maxPause)
		}
	}
}

// rest waits, and reports false if the listener was closed meanwhile.
func (l *Listener) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.closed:
		return false
	}
}

// begin starts the goroutine of a connection, if the connection is admitted.
func (l *Listener) begin(socket *net.TCPConn) {
	c, err := newConn(l, socket)
	if err != nil {
		socket.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		socket.Close()
		return
	default:
	}
	if !l.admit(c) {
		socket.SetLinger(0) // so that the system keeps nothing of it
		socket.Close()
		return
	}
	l.conns[c] = struct{}{}
	l.group.Add(1)
	if c.shaking == nil {
		l.open(c)
		return
	}
	go c.shake()
}

// admit gives a connection its place among those that have not entered, or reports that it is refused. l.mu is held.
func (l *Listener) admit(c *Conn) bool {
	from := c.peer.Addr()
	if l.handshakes != nil {
		if c.shaking = l.handshakes.Begin(c.born, from, c.born.Add(l.config.HandshakeTime)); c.shaking == nil {
			l.hasty.Add(1)
			return false
		}
	}
	place, out := l.porch.Enter(from, c)
	if out != nil {
		l.crowded.Add(1)
		out.Member.socket.SetLinger(0)
		out.Member.hangUp()
	}
	if c.place = place; place == nil {
		l.crowded.Add(1)
		return false
	}
	return true
}

// open reports a connection to Turn and starts to read it. l.mu is held.
func (l *Listener) open(c *Conn) {
	l.opened.Add(1)
	c.news |= newsOpened
	l.queue(c)
	go c.read()
}

// queue puts a connection on Turn's list. l.mu is held.
func (l *Listener) queue(c *Conn) {
	if c.queued {
		return
	}
	c.queued = true
	l.news = append(l.news, c)
	if len(l.news) == 1 {
		l.config.Wake()
	}
}

// forget ends the bookkeeping of a connection whose goroutine ends.
func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.porch.Leave(c.place)
	l.mu.Unlock()
	l.group.Done()
}

// Turn reports to h everything that has happened since the last call. Call it after Wake was called; more calls
// do no harm. Each connection gives at most one buffer of bytes a turn.
func (l *Listener) Turn(now time.Time, h Handler) {
	l.mu.Lock()
	l.news, l.turn = l.turn[:0], l.news
	l.mu.Unlock()
	for i, c := range l.turn {
		l.turn[i] = nil
		c.tell(now, h)
	}
}
