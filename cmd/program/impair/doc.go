// Package impair is a proxy that does to a game's traffic what a bad network does: it
// loses, delays, duplicates, reorders and slows down, for UDP and TCP. `parley impair` is
// its command; docs/impair.md says how it is used.
//
// What happens to a datagram is decided by a simnet.Shaper, one for each direction of
// each client, from a seed; so the model is that of the simulation, applied to real
// sockets. Each UDP client gets a socket of its own towards the server, which so sees as
// many addresses as there are clients.
//
// A stream cannot lose bytes. A lost segment of a TCP connection is one that its
// sender's kernel would have had to send again: it and all behind it come later by a
// round trip, or by the kernel's least resend time where nothing follows that would
// show the loss. Duplicates and reordering are what TCP hides, so they do nothing there
// but hold back.
//
// Files: proxy.go (start, stop, counters), udp.go, tcp.go, schedule.go (the one goroutine
// that sends what is due), lateness.go (how late it was), sleep_*.go.
//
// What it does not do: it does not touch ICMP, sees no TCP header, and is as exact as a
// process can be: Stats says how late it was itself, and a run that was late by more than
// it matters is not to be believed.
package impair
