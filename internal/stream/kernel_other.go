//go:build !linux

package stream

import (
	"net"
	"time"
)

// kernel is nobody here: what the socket has taken counts as arrived, and how long that takes as the round trip. With a
// bounded buffer a socket takes no more than the path does.
type kernel struct{}

func (*kernel) arrivals(_ *Conn, taken uint64) (Arrivals, bool) {
	return Arrivals{Acked: taken, RTT: time.Millisecond, Least: time.Millisecond}, true
}

// bound keeps the system from holding what a slow peer has yet to read: see sendBuffer.
func (c *Conn) bound() { Bound(c.socket) }

// Bound keeps the system from holding much of what the peer of a connection has yet to read.
func Bound(c *net.TCPConn) { _ = c.SetWriteBuffer(sendBuffer) }

// limit does nothing: these systems send as fast as their windows allow.
func (kernel) limit(*Conn, uint64) {}

// ackNow does nothing: these systems acknowledge when they like.
func (c *Conn) ackNow() {}
