// Package udp is the carrier of UDP: it moves datagrams in batches between the operating system and a loop of
// package datagram.
//
// A Socket is a datagram.Carrier. It reads and writes whole batches without allocating. On Linux it uses
// recvmmsg and sendmmsg, with GRO and GSO where the kernel can join datagrams of one size and address.
// Elsewhere it moves one datagram a call.
// For tests, a Network carries datagrams in memory.
//
// # Usage
//
//	s, err := udp.Listen(":7000", udp.Config{})
//	if err != nil {
//		return err // one sentence that says what to do
//	}
//	l := datagram.StartLoop(s, core, datagram.LoopConfig{AfterTurn: drainEvents})
//	defer l.Close()
//
// Without a loop, use Socket.Read, RecvBatch.Next, SendBatch.Append and Socket.Write. A server with several
// cores opens a ListenGroup and starts a loop for each member.
//
// # Life of a datagram
//
//	recv_linux.go    recvmmsg fills a RecvBatch; a train (datagrams that GRO joined) is one entry
//	package datagram takes each to the core, and fills a SendBatch with what the core sends
//	send_linux.go    neighbours of one size and address are joined, sendmmsg sends all
//	park_linux.go    the goroutine sleeps until a datagram, its time, or a wake
//
// Where there is no recvmmsg or sendmmsg, and in tests, plain.go, memory.go and queue.go take their place.
//
// # Waiting
//
// The goroutine sleeps in the runtime's network poller, and its one timer is the read deadline. The deadline
// is set only when the next timeout has moved earlier, as setting it costs 250 ns. Wake is one atomic
// operation while the loop is busy. While the loop sleeps, Wake sets a deadline in the past. park_linux.go
// says why no wake is lost. A read of an empty socket costs 450 ns and more, so the loop reads twice only
// after a batch of several datagrams.
//
// A server with a thousand players is woken for almost every datagram, and a wake-up costs more than the
// datagram. So a loop that is woken often waits a quarter of a millisecond before it reads, and then reads
// many at once, as long as that pays (gather.go, Config.Gather). It does not wait for a sender at full speed, which itself
// waits for its acknowledgements. Neither that wait nor the two system calls
// that move datagrams notify Go's scheduler, as a notification would wake sysmon at each call. A wait
// therefore keeps a processor (P) of the scheduler from other goroutines. One P is always left to them, and
// after eight waits in a row the loop sleeps in the poller once.
//
// # Limits
//
// limits.go has all limits. Write waits at most 5 ms for room in the kernel's buffer. Every queue is
// bounded, and every drop is counted in Stats.
//
// # What it does not do
//
// It does not order, repeat or acknowledge: package reliable does. On a machine with several addresses it does
// not choose the source address: listen on each if that matters. It does not probe the path's MTU. Outside
// Linux there are no groups and no offload. If an interface is renamed while a link-local peer is
// connected, the old name stays until a send fails.
//
// # Security
//
// The source of a datagram may be forged. Nothing here answers, allocates or stores state because of a
// datagram. A flood costs no more than the bounds of a loop's turn allow. An address that cannot be sent to loses
// only its own datagrams.
package udp
