// Package lend lends memory to connections while they have something to send, to receive or to hold, so that an idle
// connection is small and the packet path does not allocate. Memory that is given back is lent again; what a burst has
// left over is dropped.
//
// # Usage
//
//	var b lend.Buffers           // one for all connections of a loop
//	p := b.Take(200)             // bytes
//	b.Give(p)
//
//	s := b.Share(packet)         // bytes that several queues hold
//	b.Release(s)
//
//	var t lend.Tables[entry]     // slices of anything, in powers of two
//	var s lend.Spares[*entry]    // single structs
//
// Files: buffers.go, shared.go, tables.go, spares.go.
//
// # Limits
//
// A Buffers keeps at most 16 MiB for later use. The callers bound what is lent: each queue has its own limit.
//
// # What it does not do
//
// Nothing here is safe for several goroutines: a loop owns what its connections borrow. Nothing is cleared: the bytes
// that are lent have the contents of their last use.
package lend
