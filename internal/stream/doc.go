// Package stream holds thousands of TCP connections, with TLS or without, for a server core
// that runs on one goroutine.
//
// A Listener accepts connections and runs each TLS handshake on a goroutine of its own, so that accepting
// never waits for a peer. By default a host may have at most 64 connections for which the core has not yet
// called Entered. A Conn has one goroutine, which waits for bytes without holding a buffer. When bytes
// come, it takes a buffer from a pool, and hands the bytes to the core's goroutine, which calls Turn:
//
//	l, err := stream.Listen(addr, stream.Config{TLS: certificate, Wake: loop.Wake})
//	…
//	for { // the core's goroutine, woken by Wake
//		l.Turn(now, core) // calls core.Opened, core.Received, core.Writable, core.Ended
//		…
//		if c.Ready() {
//			c.Send(b) // never blocks
//		}
//	}
//
// A turn takes one buffer from each connection, so a peer that floods gets no more than the others. Send
// keeps the bytes that the socket does not take at once. Until they are written, the connection is not
// Ready. Meanwhile the core keeps further output in its own queue, where it can be bounded and changed.
//
// A Loop runs a core that has no goroutine of its own.
//
// # Files
//
//	listener.go    accepting, also when descriptors run out; Turn
//	handshake.go   TLS: one handshake computes at a time, hosts take turns, each has a deadline
//	conn.go        the reading goroutine, Send, Finish and Cut
//	raw_unix.go    reads and writes that never wait; raw_other.go: the same with goroutines
//	certificate.go a self-signed certificate that is kept, and fingerprints
//	loop.go        a goroutine that takes turns
//	limits.go      the limits, and what each stops
//
// # What it does not do
//
// It knows no messages: the core decides what a peer may send and how long it may be silent. Behind a
// proxy, Peer is the proxy's address.
package stream
