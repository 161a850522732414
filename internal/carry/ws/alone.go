package ws

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"parley/internal/carry"
	"parley/internal/stream"
)

// alone is a wire with a goroutine of its own that reads, and one that waits while the peer does not take what is written: for TLS, and for systems
// without shared ones.
type alone struct {
	*shaken
	conn   *conn
	raw    syscall.RawConn // nil if writes may wait or compute, as with TLS
	served func(func())    // starts the goroutine that reads
}

func newAlone(c *shaken, served func(func())) *alone {
	a := &alone{shaken: c, served: served}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		a.raw, _ = tcp.SyscallConn()
	}
	return a
}

// start is that of wire, as are the methods below.
func (a *alone) start(c *conn) {
	a.conn = c
	a.served(a.read)
}

func (a *alone) read() {
	defer a.conn.session.Close()
	defer a.Close()
	var in [readBytes]byte
	var to carry.Arrivals
	for {
		n, err := a.Read(in[:])
		on := a.conn.hear(time.Now(), in[:n], &to)
		to.Flush()
		switch {
		case !on:
			linger(a.shaken)
			return
		case err != nil:
			a.conn.forget()
			return
		}
	}
}

func (a *alone) write(b []byte) (int, error) {
	if a.raw == nil {
		return 0, nil
	}
	return stream.TryWrite(a.raw, b)
}

func (a *alone) wait(room *[writeRoom]byte, b []byte) {
	go func() {
		if err := a.writeAll(b); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.conn.session.End(carry.Stuck)
			}
			writeBuffers.Put(room)
			a.cut()
			return
		}
		a.conn.writeOn(room, nil)
	}()
}

func (a *alone) half() { closeWrite(a.Conn) }
func (a *alone) hang() { a.SetReadDeadline(time.Now().Add(goodbyeTime)) }
func (a *alone) cut()  { a.Close() }

// closeWrite tells the peer's system that nothing more comes.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// linger reads what the client still sends, for a moment: a connection that is closed with unread bytes is reset, which may overtake the last
// frame.
func linger(c net.Conn) {
	var b [readBytes]byte
	for range maxLinger / readBytes {
		if _, err := c.Read(b[:]); err != nil {
			return
		}
	}
}

// refuse ends a connection that gets no session.
func refuse(c net.Conn, why error) {
	c.SetDeadline(time.Now().Add(goodbyeTime))
	if _, err := c.Write(appendClose(nil, codeGoing, why.Error())); err == nil {
		closeWrite(c)
		linger(c)
	}
	c.Close()
}
