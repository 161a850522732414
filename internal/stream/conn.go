package stream

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"parley/internal/admission"
	"parley/internal/pace"
)

// What Turn has to report about a connection.
const (
	newsOpened = 1 << iota
	newsBytes
	newsWritable
	newsEnded
)

// Conn is a TCP connection, with TLS or without. Its methods that are not those of Stream are for TLS.
type Conn struct {
	hub    *hub
	socket *net.TCPConn
	raw    syscall.RawConn
	tls    *tls.Conn // nil: plain TCP
	peer   netip.AddrPort
	born   time.Time

	// Owned by the goroutine that reads: that of the handshake, then the poller's or its own.
	prompt  bool // what was read is acknowledged at once
	waits   bool // Read waits for bytes
	drained bool // the last read found less than it asked for
	more    bool // TLS may hold bytes, or an end, that were not read: the system does not report these

	taken  chan struct{} // of a connection with a goroutine of its own: the bytes were taken
	polled polled        // the poller's

	// Guarded by hub.mu.
	news      uint8
	queued    bool       // on Turn's list
	armed     bool       // the poller reads it when bytes come
	finishing bool       // Finish was called
	gone      bool       // the socket is closed
	silent    bool       // Turn does not know of it, and is not told that it has ended
	shaking   *handshake // nil when the handshake is over
	place     *admission.Place[*Conn]
	err       error

	// Set by the goroutine that reads, under hub.mu. Then owned by the goroutine of Turn until the bytes are taken.
	piece *[readBytes]byte
	in    []byte // the part of piece that was not taken yet

	// Owned by the goroutine of Turn.
	core Receiver
	over bool  // only Ended is reported
	flow *Flow // nil before the first Pace: who has not entered needs none

	// Bytes that the socket has not taken yet.
	out outgoing
}

func newConn(h *hub, socket *net.TCPConn) (*Conn, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	addr, ok := socket.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return nil, net.ErrClosed // it is gone already
	}
	return &Conn{hub: h, socket: socket, raw: raw, peer: admission.Canon(addr.AddrPort()), born: time.Now()}, nil
}

// Peer returns the address that the connection came from.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// Carrier is that of Stream.
func (c *Conn) Carrier() string {
	if c.tls != nil {
		return "tls"
	}
	return "tcp"
}

// Born returns the time at which the connection was accepted.
func (c *Conn) Born() time.Time { return c.born }

// Entered is that of Stream.
func (c *Conn) Entered() {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hub.porch.Leave(c.place)
	c.place = nil
}

// hangUp closes the socket, whichever goroutine has the connection. hub.mu is held.
func (c *Conn) hangUp() {
	if c.shaking != nil {
		c.shaking.cancel()
		c.socket.Close() // the goroutine of the handshake sees that
		return
	}
	c.endLocked(net.ErrClosed)
}

// buffers lends read buffers, only while there are bytes.
var buffers = sync.Pool{New: func() any { return new([readBytes]byte) }}

// errWouldBlock says that there are no bytes now. TLS takes it as temporary and continues later where it stopped.
// Its type is error, as converting a net.Error to an error may allocate.
var errWouldBlock error = wouldBlock{}

var _ net.Error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string   { return "stream: nothing to read now" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

// read is the goroutine of a connection that the poller does not read. It hands over all bytes until the connection ends.
func (c *Conn) read() {
	for {
		buf := buffers.Get().(*[readBytes]byte)
		n, err := c.fill(buf[:], true)
		if n == 0 {
			buffers.Put(buf)
			c.drain(err)
			return
		}
		if c.prompt {
			c.ackNow()
		}
		c.hand(buf, n)
		select {
		case <-c.taken:
		case <-c.hub.closed:
			c.drain(net.ErrClosed)
			return
		}
	}
}

// pull hands over the bytes that have come. If there are none, the poller waits for some.
func (c *Conn) pull() {
	buf := buffers.Get().(*[readBytes]byte)
	n, err := c.fill(buf[:], false)
	if n > 0 {
		c.hand(buf, n)
		return
	}
	buffers.Put(buf)
	if !errors.Is(err, errWouldBlock) {
		c.end(err)
		return
	}
	c.hub.mu.Lock()
	c.readOn()
	c.hub.mu.Unlock()
}

// fill reads until the buffer is full or there is nothing more now. So a peer that puts each byte into a TLS record
// of its own causes no more turns. It waits for the first bytes if it is told to. An error behind bytes comes again with
// the next fill.
func (c *Conn) fill(buf []byte, wait bool) (n int, err error) {
	var from io.Reader = c
	if c.tls != nil {
		from = c.tls
	}
	c.waits, c.drained = wait, false
	for n < len(buf) && err == nil {
		var k int
		k, err = from.Read(buf[n:])
		n += k
		c.waits = false
	}
	c.more = c.tls != nil && !errors.Is(err, errWouldBlock)
	return n, err
}

// hand hands bytes to Turn. They are read on when Turn has taken them.
func (c *Conn) hand(buf *[readBytes]byte, n int) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.piece, c.in = buf, buf[:n]
	c.hub.report(c, newsBytes)
}

// start begins to read, when the core knows the connection: so peers are heard in the order in which they spoke.
func (c *Conn) start() {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	switch {
	case c.gone:
	case c.hub.poller.add(c):
		c.more = c.tls != nil // bytes may have come with the end of the handshake
		c.readOn()
	default:
		c.taken = make(chan struct{}, 1)
		c.hub.group.Go(c.read)
	}
}

// readOn lets the connection be read again. hub.mu is held.
func (c *Conn) readOn() {
	switch {
	case c.taken != nil:
		c.taken <- struct{}{} // has room for it: it comes once for each piece
	case c.gone:
	case c.finishing:
		c.hub.group.Go(func() { c.drain(io.EOF) })
	case c.more:
		c.hub.group.Go(c.pull)
	default:
		c.hub.poller.arm(c)
	}
}

// drain ends a connection. After Finish it first reads and discards what the peer sends, until the peer closes too or the
// linger time is over. Closing with unread bytes would send a reset, which may overtake the last bytes.
func (c *Conn) drain(err error) {
	c.hub.mu.Lock()
	finishing := c.finishing
	c.hub.mu.Unlock()
	if finishing {
		buf := buffers.Get().(*[readBytes]byte)
		for {
			if _, err := c.socket.Read(buf[:]); err != nil {
				break
			}
		}
		buffers.Put(buf)
	}
	c.end(err)
}

// end closes the socket and reports the end, once. Any goroutine may call it.
func (c *Conn) end(err error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.endLocked(err)
}

func (c *Conn) endLocked(err error) {
	if c.gone {
		return
	}
	c.gone, c.err = true, err
	c.hub.poller.forget(c) // first, as another connection may get the descriptor
	c.socket.Close()
	delete(c.hub.conns, c)
	c.hub.porch.Leave(c.place)
	if c.shaking == nil && !c.silent {
		c.hub.report(c, newsEnded)
	}
}

// tell does the work of Turn for one connection.
func (c *Conn) tell(now time.Time, h Handler) {
	c.hub.mu.Lock()
	news, err := c.news, c.err
	c.news, c.queued = 0, false
	c.hub.mu.Unlock()
	if news&newsOpened != 0 {
		if c.core = h.Opened(now, c); c.core == nil {
			c.socket.SetLinger(0) // so that the system keeps nothing of it
			c.Cut()
		} else {
			c.bound()
		}
		c.start()
	}
	if news&newsBytes != 0 {
		c.offer(now)
	}
	if news&newsWritable != 0 && !c.over && c.core != nil {
		c.core.Writable(now)
	}
	if news&newsEnded != 0 {
		c.over = true
		if c.core != nil {
			c.core.Ended(now, err)
		}
	}
}

// offer offers the core the bytes that were not taken yet.
func (c *Conn) offer(now time.Time) {
	switch {
	case c.over:
	case c.hub.door.Shuts(now, c.peer.Addr()):
		c.in = nil // it is not cut off, so that it can still be told why
	default:
		c.in = c.in[c.core.Received(now, c.in):]
	}
	if len(c.in) > 0 && !c.over {
		c.hub.stalled = append(c.hub.stalled, c)
		return
	}
	buffers.Put(c.piece)
	c.piece, c.in = nil, nil
	c.hub.mu.Lock()
	c.readOn()
	c.hub.mu.Unlock()
}

// Ready is that of Stream.
func (c *Conn) Ready() bool { return c.out.empty() }

// Send is that of Stream.
func (c *Conn) Send(b []byte) {
	if c.over {
		return
	}
	if c.flow != nil {
		c.flow.Stamp(c.hub.clock(time.Now()))
	}
	if c.tls != nil {
		_, _ = c.tls.Write(b)
		return
	}
	_, _ = c.Write(b)
}

// Pace is that of Stream.
func (c *Conn) Pace(now time.Time, beside int) Pace {
	f := c.flow
	if f == nil {
		f = new(Flow)
		c.flow = f
	}
	at := c.hub.clock(now)
	written, pending := c.out.counts()
	if f.Begin(at, written, beside) {
		if a, ok := c.hub.kernel.arrivals(c, written-uint64(pending)); ok {
			f.Look(at, a)
		}
	}
	p := f.Pace(at, pending)
	if rate, changed := f.Limit(); changed {
		c.hub.kernel.limit(c, rate)
	}
	return p
}

// Estimate is that of Stream.
func (c *Conn) Estimate() pace.Estimate {
	if c.flow == nil {
		return new(pace.Path).Estimate()
	}
	return c.flow.Estimate()
}

// Finish is that of Stream.
func (c *Conn) Finish() {
	if c.over {
		return
	}
	c.over = true
	c.socket.SetDeadline(time.Now().Add(c.hub.linger))
	c.hub.mu.Lock()
	c.finishing = true
	switch {
	case c.armed:
		c.armed = false
		c.readOn()
	case c.piece != nil:
		c.hub.wake() // Turn drops the bytes that the core has not taken, and then waits for the peer
	}
	c.hub.mu.Unlock()
	c.out.finish(c)
}

// Cut is that of Stream.
func (c *Conn) Cut() {
	c.over = true
	c.end(net.ErrClosed)
}

// closeWrite tells the peer that nothing more comes.
func (c *Conn) closeWrite() {
	if c.tls != nil {
		_ = c.tls.CloseWrite()
	}
	_ = c.socket.CloseWrite()
}

// outgoing holds the bytes that the socket has not taken yet.
type outgoing struct {
	mu      sync.Mutex
	pending []byte
	written uint64 // bytes so far, pending ones included
	running bool   // a goroutine waits for the socket
	last    bool   // nothing comes after pending
	err     error
}

func (o *outgoing) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) == 0
}

// counts returns the bytes so far, and how many of them are pending.
func (o *outgoing) counts() (written uint64, pending int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written, len(o.pending)
}

// finish closes the connection for writing as soon as nothing is pending.
func (o *outgoing) finish(c *Conn) {
	o.mu.Lock()
	o.last = true
	idle := !o.running
	o.mu.Unlock()
	if idle {
		c.closeWrite()
	}
}

// Write is for TLS, and for plain connections. It takes all of b, and keeps the bytes that the socket does not
// take.
func (c *Conn) Write(b []byte) (int, error) {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n := 0
	if len(o.pending) == 0 {
		n, o.err = c.tryWrite(b)
	}
	if o.err == nil && n < len(b) {
		if len(o.pending)+len(b)-n > maxPending {
			o.err = errCut
		} else {
			o.pending = append(o.pending, b[n:]...)
			if !o.running {
				o.running = true
				c.hub.group.Go(c.flush)
			}
		}
	}
	if o.err != nil {
		c.end(o.err)
		return 0, o.err
	}
	o.written += uint64(len(b))
	return len(b), nil
}

// flush is the goroutine that waits for the socket to take the pending bytes.
func (c *Conn) flush() {
	o := &c.out
	o.mu.Lock()
	for o.err == nil && len(o.pending) > 0 {
		b := o.pending
		o.mu.Unlock()
		n, err := c.socket.Write(b)
		o.mu.Lock()
		o.pending = o.pending[n:] // more may have come behind b
		if o.err == nil {
			o.err = err
		}
	}
	o.pending, o.running = nil, false
	last, err := o.last, o.err
	o.mu.Unlock()
	switch {
	case err != nil:
		c.end(err)
	case last:
		c.closeWrite()
	default:
		c.hub.mu.Lock()
		c.hub.report(c, newsWritable)
		c.hub.mu.Unlock()
	}
}

// Read is for TLS, and for plain connections. In a handshake it waits for bytes, while other handshakes compute.
func (c *Conn) Read(b []byte) (n int, err error) {
	switch {
	case c.shaking != nil:
		c.shaking.reading()
		return c.shaking.has(c.socket.Read(b))
	case c.waits:
		n, err = c.socket.Read(b)
	case c.drained:
		return 0, errWouldBlock
	default:
		n, err = c.tryRead(b)
	}
	c.drained = n < len(b)
	return n, err
}

// The methods below make a Conn a net.Conn, which TLS needs.

// Close closes the socket.
func (c *Conn) Close() error { return c.socket.Close() }

// LocalAddr returns our address.
func (c *Conn) LocalAddr() net.Addr { return c.socket.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.socket.RemoteAddr() }

// SetDeadline sets the deadline of the socket.
func (c *Conn) SetDeadline(t time.Time) error { return c.socket.SetDeadline(t) }

// SetReadDeadline sets the deadline of reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.socket.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.socket.SetWriteDeadline(t) }
