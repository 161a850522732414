package simnet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// Conn is a UDP socket on a Live. It is a net.PacketConn, and has the methods of *net.UDPConn that take a
// netip.AddrPort. Its errors are *net.OpError, and wrap net.ErrClosed and os.ErrDeadlineExceeded as those of a real
// socket do.
type Conn struct {
	live  *Live
	local netip.AddrPort // what LocalAddr says

	// The lock of live guards the rest.
	addr          netip.AddrPort // what others see
	isClosed      bool
	unread        []uint32 // flights
	first         int      // in unread
	buffer, space int      // bytes for unread, and how many of them are left
	readable      sync.Cond
	readDeadline  time.Time
	writeDeadline time.Time
	readTimer     *time.Timer // wakes readers at readDeadline
}

var _ net.PacketConn = (*Conn)(nil)

// ReadFrom waits for a datagram. As with a real socket, the bytes that do not fit into b are lost.
func (c *Conn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		return 0, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// ReadFromUDPAddrPort is ReadFrom without an allocation.
func (c *Conn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	l := c.live
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case c.isClosed:
			return 0, netip.AddrPort{}, c.fault("read", net.ErrClosed)
		case hasPassed(c.readDeadline):
			return 0, netip.AddrPort{}, c.fault("read", os.ErrDeadlineExceeded)
		case c.first < len(c.unread):
			n, from := c.take(b)
			return n, from, nil
		}
		c.readable.Wait()
	}
}

// WriteTo sends a datagram to a *net.UDPAddr. It never blocks: if the network is full, the datagram is dropped.
func (c *Conn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok || udp == nil {
		return 0, c.fault("write", ErrBadAddr)
	}
	return c.WriteToUDPAddrPort(b, udp.AddrPort())
}

// WriteToUDPAddrPort is WriteTo without an allocation.
func (c *Conn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	l := c.live
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.isClosed:
		return 0, c.fault("write", net.ErrClosed)
	case hasPassed(c.writeDeadline):
		return 0, c.fault("write", os.ErrDeadlineExceeded)
	case !to.IsValid() || to.Port() == 0:
		return 0, c.fault("write", ErrBadAddr)
	case len(b) > maxDatagramBytes:
		return 0, c.fault("write", ErrMessageTooLong)
	}
	l.send(way{c.addr, unmap(to)}, b)
	return len(b), nil
}

// Close closes the Conn: blocked reads return, its address is free, and datagrams on their way to it are dropped.
func (c *Conn) Close() error {
	l := c.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.isClosed {
		return c.fault("close", net.ErrClosed)
	}
	c.isClosed = true
	delete(l.conns, c.addr)
	l.free = append(l.free, c.unread[c.first:]...)
	c.unread, c.first = nil, 0
	if c.readTimer != nil {
		c.readTimer.Stop()
	}
	c.readable.Broadcast()
	return nil
}

// LocalAddr returns the address that Listen gave the Conn, a *net.UDPAddr.
func (c *Conn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(c.local) }

// SetDeadline sets both deadlines. The zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads fail from t on, including reads that are blocked.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	if c.isClosed {
		return c.fault("set", net.ErrClosed)
	}
	c.readDeadline = t
	if c.readTimer != nil {
		c.readTimer.Stop()
		c.readTimer = nil
	}
	if !t.IsZero() {
		c.readTimer = time.AfterFunc(time.Until(t), func() {
			c.live.mu.Lock()
			defer c.live.mu.Unlock()
			c.readable.Broadcast()
		})
	}
	return nil
}

// SetWriteDeadline makes writes fail from t on.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	if c.isClosed {
		return c.fault("set", net.ErrClosed)
	}
	c.writeDeadline = t
	return nil
}

// SetReadBuffer sets how many bytes of unread datagrams the Conn holds. Each datagram counts 64 bytes more than its
// payload. The default is 212,992 bytes.
func (c *Conn) SetReadBuffer(bytes int) error {
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	if c.isClosed {
		return c.fault("set", net.ErrClosed)
	}
	c.space += bytes - c.buffer
	c.buffer = bytes
	return nil
}

// fault is an error as a socket has it.
func (c *Conn) fault(op string, err error) error {
	return &net.OpError{Op: op, Net: "udp", Source: net.UDPAddrFromAddrPort(c.local), Err: err}
}

// offer puts a datagram into the read buffer, if there is room.
func (c *Conn) offer(ref uint32, bytes int) Fate {
	if bytes+readOverheadBytes > c.space {
		return FateOverflow
	}
	c.space -= bytes + readOverheadBytes
	c.unread = append(c.unread, ref)
	c.readable.Signal()
	return FateDelivered
}

// take copies the first unread datagram to b and frees it.
func (c *Conn) take(b []byte) (int, netip.AddrPort) {
	ref := c.unread[c.first]
	c.first++
	if c.first > len(c.unread)/2 { // moves each entry once on average, and a queue that never empties does not grow
		c.unread, c.first = c.unread[:copy(c.unread, c.unread[c.first:])], 0
	}
	f := &c.live.flights[ref]
	c.space += len(f.buf) + readOverheadBytes
	c.live.free = append(c.live.free, ref)
	return copy(b, f.buf), f.from
}

func hasPassed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
