package ws

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/carry"
	"parley/internal/stream"
)

// conn is a connection behind its handshake. One goroutine reads. Whoever has something writes, one at a time.
type conn struct {
	net net.Conn
	raw syscall.RawConn // nil if writes may wait or compute, as with TLS

	frames frames // of the goroutine that reads
	early  []byte // what came with the handshake
	pinged bool   // a ping came with what was read last

	mu      sync.Mutex
	busy    bool   // somebody writes
	again   bool   // there is something new since
	closing bool   // a close frame went out, or is about to
	last    []byte // that frame, until it is taken
	pong    []byte
	ended   atomic.Bool

	session *carry.Session // guarded by mu but for the goroutine that reads; nil before it is opened, and of a stream
}

var writeBuffers = sync.Pool{New: func() any { return new([writeRoom]byte) }}

func newConn(c net.Conn, early []byte) *conn {
	x := &conn{net: c, early: early}
	if tcp, ok := c.(*net.TCPConn); ok {
		x.raw, _ = tcp.SyscallConn()
	}
	return x
}

// read reads bytes of the client.
func (c *conn) read(b []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(b, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.net.Read(b)
}

// ready writes what the session has, in the goroutine that calls it if the connection takes it without waiting. It is Opening.Ready.
func (c *conn) ready() {
	c.mu.Lock()
	if c.busy {
		c.again = true
		c.mu.Unlock()
		return
	}
	c.busy = true
	c.mu.Unlock()
	if c.raw == nil {
		go c.writeAll(nil, nil)
		return
	}
	for {
		room := writeBuffers.Get().(*[writeRoom]byte)
		b := c.gather(room[:0])
		if len(b) == 0 {
			writeBuffers.Put(room)
			if c.rest() {
				return
			}
			continue
		}
		n, err := stream.TryWrite(c.raw, b)
		if err != nil {
			writeBuffers.Put(room)
			c.net.Close()
			return // busy for ever: nothing more goes out
		}
		if n < len(b) {
			go c.writeAll(room, b[n:])
			return
		}
		writeBuffers.Put(room)
	}
}

// writeAll writes what is left of a buffer, and then all that there is. It may wait.
func (c *conn) writeAll(room *[writeRoom]byte, b []byte) {
	if room == nil {
		room = writeBuffers.Get().(*[writeRoom]byte)
	}
	defer writeBuffers.Put(room)
	for {
		if len(b) == 0 {
			if b = c.gather(room[:0]); len(b) == 0 {
				if c.rest() {
					return
				}
				continue
			}
		}
		if c.write(b) != nil {
			c.net.Close()
			return
		}
		b = nil
	}
}

// write writes all, as long as the peer takes something.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		c.net.SetWriteDeadline(time.Now().Add(writeTime))
		n, err := c.net.Write(b)
		if b = b[n:]; err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// gather appends what is to be written next. A last frame closes the connection.
func (c *conn) gather(b []byte) []byte {
	c.mu.Lock()
	if c.pong != nil && !c.closing {
		b = append(appendFrameHead(b, opPong, len(c.pong)), c.pong...)
		c.pong = nil
	}
	closing, last, s := c.closing, c.last, c.session
	c.last = nil
	c.mu.Unlock()
	if s == nil || closing {
		return append(b, last...)
	}
	b = s.Batch(b, writeBytes, appendHead)
	if len(b) == 0 && s.Leaving() {
		c.mu.Lock()
		c.closing = true
		c.mu.Unlock()
		b = appendClose(b, codeNormal, carry.Done.String())
	}
	return b
}

// rest ends a time of writing, if nothing is new. Behind a close frame it says that nothing more comes.
func (c *conn) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again || c.last != nil {
		c.again = false
		return false
	}
	if c.closing && !c.ended.Swap(true) {
		closeWrite(c.net)
	}
	c.busy = false
	return true
}

// closeWrite tells the peer's system that nothing more comes: so the peer reads the last bytes, which a reset could overtake.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// answer notes that a ping is to be answered: the newest, if several wait.
func (c *conn) answer(ping []byte) {
	c.mu.Lock()
	c.pong = append(c.pong[:0], ping...)
	if c.pong == nil {
		c.pong = []byte{}
	}
	c.mu.Unlock()
}

// bye ends the connection at once, for a reason that the client is told if it takes so much. Who writes already adds it behind that. The goroutine
// that reads sees the end, and closes.
func (c *conn) bye(code uint16, text string) {
	c.mu.Lock()
	if !c.closing {
		c.closing, c.last = true, appendClose(nil, code, text)
	}
	c.mu.Unlock()
	c.net.SetReadDeadline(time.Now().Add(goodbyeTime))
	c.ready()
}

// refuse ends a connection that gets no session.
func (c *conn) refuse(why error) {
	c.bye(codeGoing, why.Error())
	c.linger()
	c.net.Close()
}

// linger reads what the client still sends, for a moment: a connection that is closed with unread bytes is reset, which may overtake the last
// frame.
func (c *conn) linger() {
	var b [readBytes]byte
	for range maxLinger / readBytes {
		if _, err := c.net.Read(b[:]); err != nil {
			return
		}
	}
}

// serve hands the datagrams of a client to its session until the connection ends.
func (c *conn) serve() {
	defer c.session.Close()
	defer c.net.Close()
	var in [readBytes]byte
	var letter [carry.MaxDatagram + 1]byte // one byte more than a datagram may have
	have := 0
	for {
		if c.pinged {
			c.pinged = false
			c.ready()
		}
		n, err := c.read(in[:])
		for b := in[:n]; len(b) > 0; {
			p, k, err := c.frames.next(b)
			if err != nil {
				c.bye(codeOf(err), err.Error())
				c.session.End(carry.Wrong)
				c.linger()
				return
			}
			b = b[k:]
			switch p.kind {
			case pieceData:
				if have == 0 && p.last { // all of it, the usual case
					if !c.session.Deliver(p.b) {
						c.over()
						return
					}
					continue
				}
				if have += copy(letter[have:], p.b); p.last {
					if !c.session.Deliver(letter[:have]) {
						c.over()
						return
					}
					have = 0
				} else if len(p.b) < 64 && !c.session.Spend() {
					c.over()
					return
				}
			case pieceNone:
			default:
				if !c.session.Spend() {
					c.over()
					return
				}
				if !c.controlled(p) {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// over ends the connection of a session that must end.
func (c *conn) over() {
	c.bye(codeOfEnd(c.session.Over()))
	c.linger()
}

// codeOfEnd returns what a client is told when its session ends at once.
func codeOfEnd(why carry.Why) (code uint16, text string) {
	code = codePolicy
	if why == carry.Cut || why == carry.Done {
		code = codeGoing
	}
	return code, why.String()
}

// controlled does what a control frame asks for, and reports whether the connection goes on.
func (c *conn) controlled(p piece) bool {
	switch p.kind {
	case piecePing:
		c.answer(p.b)
		c.pinged = true
	case pieceClose:
		c.mu.Lock()
		first := !c.closing
		c.mu.Unlock()
		if first {
			code := uint16(codeNormal)
			if len(p.b) == 1 {
				code = codeProtocol
			}
			c.bye(code, "")
		}
		return false
	}
	return true
}

// pipe is a connection as a stream: a carry.Pipe. Messages are pieces of it.
type pipe struct {
	*conn
	in   [readBytes]byte
	have []byte // of in: frames that were not read yet
	data []byte // of in: data that was not read yet

	allowance carry.Allowance // of frames

	writing sync.Mutex
	sent    []byte // room for a frame; guarded by writing
	last    bool   // a close frame went out; guarded by writing
}

// Read is that of carry.Pipe. It takes the data of all frames that have come whole or in part, as far as b has room.
func (p *pipe) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(p.data) > 0 {
			k := copy(b[n:], p.data)
			p.data = p.data[k:]
			n += k
			continue
		}
		if len(p.have) == 0 {
			if n > 0 {
				return n, nil
			}
			k, err := p.read(p.in[:])
			if p.have = p.in[:k]; k == 0 {
				return 0, err
			}
		}
		if err := p.take(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// take takes the next piece of what has come.
func (p *pipe) take() error {
	x, n, err := p.frames.next(p.have)
	if p.have = p.have[n:]; err != nil {
		p.tell(codeOf(err), err.Error())
		return errors.Join(carry.ErrWrong, err)
	}
	if x.kind != pieceNone && !p.allowance.Spend() {
		p.tell(codePolicy, carry.Flood.String())
		return carry.ErrFlood
	}
	switch x.kind {
	case pieceData:
		p.data = x.b
	case piecePing:
		p.answer(x.b)
		if p.writing.TryLock() { // else it goes out with what is being written, or behind it
			defer p.writing.Unlock()
			return p.flush(nil)
		}
	case pieceClose:
		return io.EOF
	}
	return nil
}

// flush writes the answer to a ping, if one waits, and a message. writing is held.
func (p *pipe) flush(b []byte) error {
	out := p.sent[:0]
	p.mu.Lock()
	if p.pong != nil {
		out = append(appendFrameHead(out, opPong, len(p.pong)), p.pong...)
		p.pong = nil
	}
	p.mu.Unlock()
	if len(b) > 0 {
		out = append(appendHead(out, len(b)), b...)
	}
	if p.sent = out[:0]; cap(out) > 4<<10 {
		p.sent = nil
	}
	if p.last {
		return net.ErrClosed
	}
	return p.write(out)
}

// Write is that of carry.Pipe.
func (p *pipe) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := p.flush(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite is that of carry.Pipe.
func (p *pipe) CloseWrite() error {
	p.tell(codeNormal, carry.Done.String())
	return nil
}

// tell sends a close frame.
func (p *pipe) tell(code uint16, text string) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.last {
		_ = p.write(appendClose(nil, code, text))
		p.last = true
		closeWrite(p.net)
	}
}

// Close is that of carry.Pipe.
func (p *pipe) Close() error { return p.net.Close() }
