package ws

import (
	"sync"
	"time"

	"parley/internal/carry"
)

// conn is a connection of datagrams behind its handshake. Its wire reads. Whoever has something writes, one at a time.
type conn struct {
	frames frames                       // of the goroutine that reads, as are
	letter *[carry.MaxDatagram + 1]byte // a message of which a part has come, with a byte more than a datagram may have; lent
	have   int

	mu      sync.Mutex
	wire    wire // nil before the connection is started
	session *carry.Session
	busy    bool   // somebody writes, or nobody may yet
	again   bool   // there is something new since
	closing bool   // a close frame went out, or is about to
	last    []byte // that frame, until it is taken
	ended   bool   // nothing goes out behind it
	pong    pong
}

// wire is what is below a connection: one that is read by a goroutine of its own (alone.go), or one of many that share one (shared_linux.go).
type wire interface {
	// start hands what comes to conn.hear, until that reports false. What comes after that is dropped. When the peer has closed, or the time
	// of hang is over, it closes the connection, and then the session. It does not wait.
	start(c *conn)

	// write writes as much of b as is taken at once, which may be nothing. One goroutine at a time writes, from here to the end of wait.
	write(b []byte) (n int, err error)

	// wait calls conn.writeOn when more is taken of b, which is in room. A peer that takes nothing for 10 s is cut off.
	wait(room *[writeRoom]byte, b []byte)

	// half tells the peer's system that nothing more comes: so the peer reads the last bytes, which a reset could overtake.
	half()

	// hang bounds what is left of the connection to goodbyeTime.
	hang()

	// cut ends the connection.
	cut()
}

var (
	writeBuffers = sync.Pool{New: func() any { return new([writeRoom]byte) }}
	letters      = sync.Pool{New: func() any { return new([carry.MaxDatagram + 1]byte) }}
)

// newConn returns a connection that waits for its start.
func newConn() *conn { return &conn{busy: true} }

// start begins to read, and to write what came meanwhile.
func (c *conn) start(w wire, s *carry.Session) {
	c.mu.Lock()
	c.wire, c.session = w, s
	closing := c.closing
	c.mu.Unlock()
	if closing {
		w.hang()
	}
	w.start(c)
	c.writeOn(nil, nil)
}

// ready writes what the session has, in the goroutine that calls it. What the peer does not take at once waits. It is Opening.Ready.
func (c *conn) ready() {
	c.mu.Lock()
	if c.busy {
		c.again = true
		c.mu.Unlock()
		return
	}
	c.busy = true
	c.mu.Unlock()
	c.writeOn(nil, nil)
}

// writeOn writes what is left of a buffer, and then all that there is, as far as the wire takes it.
func (c *conn) writeOn(room *[writeRoom]byte, b []byte) {
	if room == nil {
		room = writeBuffers.Get().(*[writeRoom]byte)
	}
	for {
		if len(b) == 0 {
			if b = c.gather(room[:0]); len(b) == 0 {
				if c.rest() {
					break
				}
				continue
			}
		}
		n, err := c.wire.write(b)
		if err != nil {
			c.wire.cut()
			break // busy for ever: nothing more goes out
		}
		if b = b[n:]; len(b) > 0 {
			c.wire.wait(room, b)
			return
		}
	}
	writeBuffers.Put(room)
}

// gather appends what is to be written next. A last frame closes the connection.
func (c *conn) gather(b []byte) []byte {
	c.mu.Lock()
	if !c.closing {
		b = c.pong.appendTo(b)
	}
	closing, last := c.closing, c.last
	c.last = nil
	c.mu.Unlock()
	if closing {
		return append(b, last...)
	}
	leaving := c.session.Leaving() // asked first: a goodbye may come between the two
	b = c.session.Batch(b, writeBytes, appendHead)
	if len(b) == 0 && leaving {
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
	if c.again || c.last != nil {
		c.again = false
		c.mu.Unlock()
		return false
	}
	half := c.closing && !c.ended
	c.ended, c.busy = c.closing, false
	c.mu.Unlock()
	if half {
		c.wire.half()
	}
	return true
}

// bye ends the connection at once, for a reason that the client is told if it takes so much. Who writes already adds it behind that.
func (c *conn) bye(code uint16, text string) {
	c.mu.Lock()
	if !c.closing {
		c.closing, c.last = true, appendClose(nil, code, text)
	}
	w := c.wire
	c.mu.Unlock()
	if w != nil {
		w.hang()
	}
	c.ready()
}

// end is Opening.End.
func (c *conn) end(why carry.Why) { c.bye(codeOfEnd(why)) }

// codeOfEnd returns what a client is told when its session ends at once.
func codeOfEnd(why carry.Why) (code uint16, text string) {
	code = codePolicy
	if why == carry.Cut || why == carry.Done {
		code = codeGoing
	}
	return code, why.String()
}

// hear takes bytes of the client, which it overwrites, and reports whether the connection goes on. The caller flushes to.
func (c *conn) hear(now time.Time, b []byte, to *carry.Arrivals) bool {
	pinged := false
	for len(b) > 0 {
		p, n, err := c.frames.next(b)
		if err != nil {
			c.bye(codeOf(err), err.Error())
			c.session.End(carry.Wrong)
			return c.forget()
		}
		b = b[n:]
		ok := true
		switch p.kind {
		case pieceNone:
		case pieceData:
			ok = c.piece(now, p, to)
		case pieceClose:
			code := uint16(codeNormal)
			if len(p.b) == 1 {
				code = codeProtocol
			}
			c.bye(code, "")
			return c.forget()
		default:
			if ok = c.session.Spend(); p.kind == piecePing {
				pinged = true
				c.mu.Lock()
				c.pong.note(p.b)
				c.mu.Unlock()
			}
		}
		if !ok {
			c.end(c.session.Over())
			return c.forget()
		}
	}
	if pinged {
		c.ready()
	}
	return true
}

// piece takes a part of a message, and hands on the message that it completes. Each part counts as a message.
func (c *conn) piece(now time.Time, p piece, to *carry.Arrivals) bool {
	if c.letter == nil {
		if p.last { // all of it, the usual case
			return to.Deliver(now, c.session, p.b)
		}
		c.letter = letters.Get().(*[carry.MaxDatagram + 1]byte)
	}
	c.have += copy(c.letter[c.have:], p.b)
	if !p.last {
		return c.session.Spend()
	}
	ok := to.Deliver(now, c.session, c.letter[:c.have])
	c.forget()
	return ok
}

// forget gives back what a part of a message has taken. It returns false.
func (c *conn) forget() bool {
	if c.letter != nil {
		letters.Put(c.letter)
		c.letter, c.have = nil, 0
	}
	return false
}
