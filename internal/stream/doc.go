// Package stream holds thousands of TCP connections, with TLS or without, for a server core
// that runs on one goroutine.
//
// A Carrier brings streams to a core, which does not know what carries them. A Listener is the carrier of TCP. It
// accepts connections and runs each TLS handshake on a goroutine of its own, so that accepting never waits for a peer. By
// default a host may have at most 64 connections for which the core has not yet called Entered. On Linux one goroutine
// reads all connections of a Listener; elsewhere each has its own. A buffer is taken from a pool when bytes come, and handed
// to the core's goroutine, which calls Turn:
//
//	l, err := stream.Listen(addr, stream.Config{TLS: tlsConfig})
//	l.Start(loop.Wake)
//	…
//	for { // the core's goroutine, woken by Wake
//		l.Turn(now, core) // calls core.Opened, and Received, Writable and Ended of the receiver that it returned
//		…
//		if s.Ready() {
//			s.Send(b) // never blocks
//		}
//	}
//
// A turn takes one buffer from each connection, so a peer that floods gets no more than the others. The core may leave bytes
// for a later turn. Send keeps the bytes that the socket does not take at once. Until they are written, the stream is not
// Ready. Meanwhile the core keeps further output in its own queue, where it can be bounded and changed.
//
// Pace says how many bytes a tick may send, and measures the path: see flow.go. A core that calls it once a tick keeps what the
// path cannot take, where it becomes newer, instead of giving it to a socket, where it becomes old.
//
// A Client is one connection that was dialed. The loop that calls Turn is that of package datagram, with a Silent carrier
// if the core has no datagrams.
//
// # Files
//
//	carrier.go     the interfaces between a core and its carrier: Carrier, Stream, Handler, Receiver
//	listener.go    accepting, also when descriptors run out
//	handshake.go   TLS: one handshake computes at a time, hosts take turns, each has a deadline
//	client.go      a connection that was dialed
//	hub.go         the common part of Listener and Client; Turn
//	conn.go        one connection: reading, Send, Finish and Cut
//	poll_linux.go  one goroutine that reads all connections of a Listener
//	flow.go        what a stream's path takes, from what the system knows of it
//	kernel_linux.go  asking the system, and bounding what it holds; kernel_other.go: without
//	raw_unix.go    reads and writes that never wait; raw_other.go: writes by a goroutine
//	certificate.go a self-signed certificate that is kept, and fingerprints
//	limits.go      the limits, and what each stops
//
// # What it does not do
//
// It knows no messages: the core decides what a peer may send and how long it may be silent. Behind a
// proxy, Peer is the proxy's address.
package stream
