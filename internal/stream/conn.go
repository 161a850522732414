package stream

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"parley/internal/admission"
)

// What Turn has to report about a connection.
const (
	newsOpened = 1 << iota
	newsBytes
	newsWritable
	newsEnded
)

// Conn is an accepted connection. Its exported methods are for the goroutine that calls Turn, except those of
// net.Conn, which are for TLS.
type Conn struct {
	// Owner is for the core's own use, such as its connection.
	Owner any

	l      *Listener
	socket *net.TCPConn
	raw    syscall.RawConn
	tls    *tls.Conn // nil: plain TCP
	peer   netip.AddrPort
	born   time.Time

	// Owned by the goroutine of the handshake, and then by the one that reads.
	waits bool // Read waits for bytes, as it does in a handshake
	side  rawSide
	taken chan struct{} // the bytes were taken; for the reader

	// Guarded by l.mu.
	news    uint8
	queued  bool       // on Turn's list
	shaking *Handshake // nil when the handshake is over
	place   *admission.Place[*Conn]
	in      []byte
	err     error

	// Owned by the goroutine of Turn.
	over  bool // Finish or Cut was called: only Ended is reported
	ended bool

	// Bytes that the socket has not taken yet.
	out outgoing
}

func newConn(l *Listener, socket *net.TCPConn) (*Conn, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	addr, ok := socket.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return nil, net.ErrClosed // it is gone already
	}
	c := &Conn{l: l, socket: socket, raw: raw, peer: addr.AddrPort(), born: time.Now(), taken: make(chan struct{}, 1)}
	c.peer = netip.AddrPortFrom(c.peer.Addr().Unmap(), c.peer.Port())
	c.side.init(c)
	return c, nil
}

// Peer returns the address that the connection came from.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// Born returns the time at which the connection was accepted.
func (c *Conn) Born() time.Time { return c.born }

// Entered tells the listener that the peer has identified itself, for example by a log-in. The connection no longer
// counts towards the limit of connections that have not entered. The core calls Entered for each connection that it
// wants to keep.
func (c *Conn) Entered() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.porch.Leave(c.place)
}

// hangUp closes the socket, whichever goroutine has the connection. l.mu is held.
func (c *Conn) hangUp() {
	if c.shaking != nil {
		c.shaking.Cancel()
	}
	c.socket.Close()
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

// read is the goroutine of a connection. It hands over all bytes until the connection ends.
func (c *Conn) read() {
	defer c.l.forget(c)
	var err error
	for err == nil { // first without waiting: bytes may have come with the end of the handshake
		buf := buffers.Get().(*[readBytes]byte)
		var n int
		n, err = c.fill(buf[:])
		blocked := errors.Is(err, errWouldBlock)
		if n > 0 {
			c.deliver(buf[:n])
		}
		buffers.Put(buf)
		if blocked {
			err = c.wait()
		}
	}
	c.drain()
	c.socket.Close()
	c.finishNews(err)
}

// fill reads until the buffer is full or there is nothing more now. So a peer that puts each byte into a TLS record
// of its own causes no more turns.
func (c *Conn) fill(buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		if c.tls != nil {
			k, err = c.tls.Read(buf[n:])
		} else {
			k, err = c.Read(buf[n:])
		}
		n += k
	}
	return n, err
}

// deliver hands bytes to Turn and waits until they are taken.
func (c *Conn) deliver(b []byte) {
	c.l.mu.Lock()
	c.in = b
	c.news |= newsBytes
	c.l.queue(c)
	c.l.mu.Unlock()
	select {
	case <-c.taken:
	case <-c.l.closed:
	}
}

func (c *Conn) finishNews(err error) {
	c.l.mu.Lock()
	c.err = err
	c.news |= newsEnded
	c.l.queue(c)
	c.l.mu.Unlock()
}

// tell does the work of Turn for one connection.
func (c *Conn) tell(now time.Time, h Handler) {
	c.l.mu.Lock()
	news, in, err := c.news, c.in, c.err
	c.news, c.in, c.queued = 0, nil, false
	c.l.mu.Unlock()
	if news&newsOpened != 0 {
		h.Opened(now, c)
	}
	if news&newsBytes != 0 {
		if !c.over {
			h.Received(now, c, in)
		}
		c.taken <- struct{}{}
	}
	if news&newsWritable != 0 && !c.over {
		h.Writable(now, c)
	}
	if news&newsEnded != 0 && !c.ended {
		c.ended = true
		h.Ended(now, c, err)
	}
}

// Ready reports whether everything that was sent has gone to the socket.
func (c *Conn) Ready() bool { return c.out.empty() }

// Send writes up to MaxSend bytes. It never blocks: bytes that the socket does not take at once are kept, and c is not
// Ready until Writable is called. Send only while c is Ready. If the connection fails, Ended is called.
func (c *Conn) Send(b []byte) {
	if c.over {
		return
	}
	if c.tls != nil {
		_, _ = c.tls.Write(b)
		return
	}
	_, _ = c.Write(b)
}

// Finish closes the connection when everything sent has been written, so that the peer can read all of it. It waits
// for the peer to close too, at most for the linger time.
func (c *Conn) Finish() {
	if c.over || c.ended {
		return
	}
	c.over = true
	c.socket.SetDeadline(time.Now().Add(c.l.config.Linger))
	c.out.finish(c)
}

// Cut closes the connection at once and drops unwritten bytes.
func (c *Conn) Cut() {
	c.over = true
	c.socket.SetLinger(0)
	c.socket.Close()
}

// closeWrite tells the peer that nothing more comes.
func (c *Conn) closeWrite() {
	if c.tls != nil {
		_ = c.tls.CloseWrite()
	}
	_ = c.socket.CloseWrite()
}

// drain reads and discards what the peer sends after Finish, until the peer closes too or the linger time is over.
// Closing with unread bytes would send a reset, which may overtake the last bytes.
func (c *Conn) drain() {
	if !c.out.finishing() {
		return
	}
	buf := buffers.Get().(*[readBytes]byte)
	for {
		if _, err := c.socket.Read(buf[:]); err != nil {
			break
		}
	}
	buffers.Put(buf)
}

// outgoing holds the bytes that the socket has not taken yet.
type outgoing struct {
	mu      sync.Mutex
	pending []byte
	running bool // a goroutine waits for the socket
	last    bool // nothing comes after pending
	err     error
}

func (o *outgoing) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) == 0
}

func (o *outgoing) finishing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
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
		n, o.err = c.side.write(c, b)
	}
	if o.err == nil && n < len(b) {
		if len(o.pending)+len(b)-n > maxPending {
			o.err = errCut
		} else {
			o.pending = append(o.pending, b[n:]...)
			if !o.running {
				o.running = true
				c.l.group.Add(1)
				go c.flush()
			}
		}
	}
	if o.err != nil {
		c.socket.Close() // the reading goroutine then reports the end
		return 0, o.err
	}
	return len(b), nil
}

// flush is the goroutine that waits for the socket to take the pending bytes.
func (c *Conn) flush() {
	defer c.l.group.Done()
	o := &c.out
	for err := error(nil); ; {
		err = c.side.flush(c)
		o.mu.Lock()
		if err != nil && o.err == nil {
			o.err = err
		}
		if o.err != nil || len(o.pending) == 0 {
			break
		}
		o.mu.Unlock() // more came after the last byte had gone
	}
	o.pending, o.running = nil, false
	last, failed := o.last, o.err != nil
	o.mu.Unlock()
	if failed {
		c.socket.Close()
		return
	}
	if last {
		c.closeWrite()
		return
	}
	c.l.mu.Lock()
	c.news |= newsWritable
	c.l.queue(c)
	c.l.mu.Unlock()
}

// Read is for TLS, and for plain connections. In a handshake it waits for bytes, while other handshakes compute.
// Afterwards it never waits.
func (c *Conn) Read(b []byte) (int, error) {
	if c.waits {
		c.shaking.reading()
		return c.shaking.has(c.socket.Read(b))
	}
	return c.side.read(c, b)
}

// wait waits until there are bytes, or the end, without a buffer for them.
func (c *Conn) wait() error { return c.side.wait(c) }

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
