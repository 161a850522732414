// Package stream holds thousands of TCP connections, with TLS or without, for a server core
// that runs on one goroutine.
//
// A Listener accepts connections and makes their handshakes, each on a goroutine of its own,
// so that accepting never waits for a peer. A host has at most 64 connections of which the core has not said
// Entered. A Conn has one goroutine that waits for bytes
// without a buffer, takes one from a pool when there are some, and hands them to the
// core's goroutine, which calls Turn:
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
// A turn gives each connection one buffer's worth, so whoever floods waits for all others. What
// the socket does not take at once Send keeps, and until it is gone the connection is not
// Ready: so the core's own queue is where bytes wait, where they can be bounded and changed.
//
// Loop is a goroutine for a core that has no other.
//
// # Files
//
//	listener.go    accepting, which survives a lack of descriptors; Turn
//	handshake.go   TLS: one handshake computes at a time, hosts take turns, a deadline for each
//	conn.go        the reading goroutine, Send, Finish and Cut
//	raw_unix.go    reading and writing that never wait; raw_other.go: the same with goroutines
//	certificate.go a certificate of our own that is kept, and fingerprints
//	loop.go        a goroutine that takes turns
//
// # What it does not do
//
// It knows no messages: what a peer may send, and for how long it may be silent, is the
// core's. It does not know who is behind a proxy: Peer is the proxy then.
package stream
