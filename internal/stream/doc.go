// Package stream holds thousands of TCP connections, with TLS or without, for a server core
// that runs on one goroutine.
//
// A Listener accepts connections and makes their handshakes, each on a goroutine of its own, so that
// accepting never waits for a peer. By default a host has at most 64 connections for which the core has not
// called Entered. A Conn has one goroutine that waits for bytes without a buffer. When there are some, it
// takes a buffer from a pool, and hands the bytes to the core's goroutine, which calls Turn:
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
// A turn takes one buffer of each connection, so a peer that floods waits for all others. Send keeps the
// bytes that the socket does not take at once. Until they are written, the connection is not Ready. So bytes
// wait in the core's own queue, where they can be bounded and changed.
//
// Loop is a goroutine for a core that has none of its own.
//
// # Files
//
//	listener.go    accepting, which survives a lack of descriptors; Turn
//	handshake.go   TLS: one handshake computes at a time, hosts take turns, a deadline for each
//	conn.go        the reading goroutine, Send, Finish and Cut
//	raw_unix.go    reads and writes that never wait; raw_other.go: the same with goroutines
//	certificate.go a self-signed certificate that is kept, and fingerprints
//	loop.go        a goroutine that takes turns
//	limits.go      the limits, and what each stops
//
// # What it does not do
//
// It knows no messages: what a peer may send, and how long it may be silent, is the core's matter. It does
// not see through a proxy: Peer is then the proxy.
package stream
