// Package impair is a proxy that acts as a bad network: it loses, delays, duplicates,
// reorders and slows down a game's traffic, over UDP and TCP. `parley impair` is its
// command. docs/impair.md is its manual.
//
// A simnet.Shaper, one for each direction of each client, decides the fate of a datagram
// from a seed. So the model is that of the simulation, applied to real sockets. Each UDP
// client gets a socket of its own towards the server, which so sees as many addresses as
// there are clients.
//
// A stream cannot lose bytes. A lost segment of a TCP connection is one that its sender's
// kernel would have to send again. That segment and all behind it are delayed by a round
// trip, or by the kernel's least resend time if nothing follows that would show the loss.
// TCP hides duplicates and reordering, so there they only delay. Where a queue is full the
// proxy does not read, so that the sender's kernel holds the sender back.
//
// Files: proxy.go (start, stop, counters), udp.go, tcp.go (connections), stream.go (what a
// network does to a stream), pipe.go (what waits for a receiver), buffer_*.go (the
// kernel's buffers), schedule.go (the one goroutine that sends what is due), lateness.go
// (how late it was), sleep_*.go.
//
// It does not affect ICMP and sees no TCP header. It is as exact as a process can be:
// Stats tells how late it was itself. Do not trust a run that was later than matters.
package impair
