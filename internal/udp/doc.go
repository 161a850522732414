// Package udp carries datagrams in batches between the system and the pure cores
// of the dialects.
//
// A Socket reads and writes whole batches without allocating: recvmmsg and
// sendmmsg on Linux, with GRO and GSO where the kernel joins datagrams of one size
// for one address into one; one datagram a call elsewhere; or a Network in memory
// for tests. A Loop owns a socket and a Core and drives one with the other from a
// single goroutine.
//
// # Usage
//
//	s, err := udp.Listen(":7000", udp.Config{})
//	if err != nil {
//		return err // one sentence that says what to do
//	}
//	l := udp.StartLoop(s, core, udp.LoopConfig{AfterTurn: drainEvents})
//	defer l.Close()
//	err = l.Do(func() { core.Kick(player) }) // on the loop's goroutine
//
// or, without a loop, Socket.Read, RecvBatch.Next, SendBatch.Append, Socket.Write.
// A server with several cores opens ListenGroup and starts a loop for each member.
//
// # Life of a datagram
//
//	recv_linux.go    recvmmsg fills a RecvBatch; a joined train is one entry
//	recv_batch.go    Next splits it into datagrams
//	loop_turn.go     each goes to Core.HandleDatagram, then commands, timeouts, AfterTurn
//	loop_turn.go     Core.PollTransmit writes into the arena of a SendBatch
//	send_linux.go    neighbours of one size and address are joined, sendmmsg sends all
//	park_linux.go    the goroutine sleeps until a datagram, its time, or a wake
//
// plain.go and memory.go stand in for the two system calls, with queue.go.
//
// # Waiting
//
// The goroutine sleeps in the runtime's network poller, and its one timer is the
// read deadline. Setting that costs 250 ns, so it is set only when the next
// time has moved earlier. Wake is one atomic operation while the loop is busy and a
// deadline in the past when it sleeps; park_linux.go says why none is lost. A
// look at an empty socket costs 450 ns and more: the loop looks twice only after
// a batch of several. Tried as well, in one run at 20,000 datagrams a second on a
// busy machine: a thread that blocks in recvmmsg took about 15% less CPU, but it can
// have neither timer nor wake; an epoll descriptor of our own inside that of the
// runtime took the same.
//
// A server with a thousand players is woken for almost each datagram, and that costs more than
// the datagram. gather.go has a loop that is woken often read a quarter of a millisecond later,
// and so many at once, as long as it brings more (Config.Gather). Neither that wait nor the two
// system calls that move datagrams tell Go's scheduler of themselves: who tells it wakes its
// watchman, which of a server with a thousand players took 14% (1.4 µs of a message and its answer, as
// much as all of a dialect's engine). So a wait keeps a processor of the scheduler from others; one
// of them is always left out, and each eighth wait in a row is in the poller. Tried and not better: to wait in
// ppoll instead, with and without a pause behind it; to wait half a millisecond.
//
// A game's tick visits the loop (Loop.Visit) and sends what is little itself: a loop that is
// woken for it costs 6 to 11% of a server that sends 20 datagrams each millisecond, if it runs
// before all others (chrt -f); on a busy machine no difference was measured.
//
// # Limits
//
// limits.go has them all. A turn handles at most LoopConfig.TurnDatagrams
// datagrams and sends at most 4,096 before timers and commands have their chance.
// Write waits at most 5 ms for room in the kernel's buffer. Every queue is bounded
// and every drop is counted in Stats.
//
// # What it does not do
//
// It does not order, repeat or acknowledge: that is package reliable. It does not
// choose the source address on a machine with several: who needs that listens on
// each. It does not probe the path's MTU. Outside Linux there are no groups, no
// offload and no marks. An interface that is renamed while a link-local peer is
// connected keeps its old name until a send fails.
//
// # Security
//
// The sender of a datagram may be forged. Nothing here answers, allocates or keeps
// state because of a datagram; a flood costs what the bounds of a turn allow. An
// address that cannot be answered costs its own datagrams and switches nothing off
// for others.
package udp
