// Package udp is the project's sockets: datagrams in batches, and the loop that
// drives a pure core with them. Only this package and what builds on it know that
// there is a network.
//
// # Usage
//
//	s, err := udp.Listen(":7000", udp.Config{})  // or Dial, or ListenGroup for several on one port
//	loop := udp.StartLoop(s, core, udp.LoopConfig{AfterTurn: drainEvents})
//	err = loop.Do(func() { core.Send(…) })       // from another goroutine
//	err = loop.Close()
//
// A Core is the seam of every dialect: HandleDatagram, HandleTimeout, NextTimeout,
// PollTransmit.
//
// # The life of a datagram, by file
//
//	recv_linux.go   recvmmsg into a RecvBatch; GRO trains are cut by recv_batch.go
//	loop_turn.go    one turn: datagrams, commands, timeouts, events, what is to go out
//	send_batch.go   what the core wrote, in order
//	send_linux.go   sendmmsg; trains of one size to one address as one GSO call
//	park_linux.go   waiting for a datagram, the time or a Wake, without losing one
//
// # Kinds of socket
//
// On Linux batched (socket_linux.go); elsewhere, or by Config, plain calls of package
// net (plain.go); and in memory (memory.go, Network), which also works in the virtual
// time of testing/synctest. All pass the same tests. IPv4 addresses are always in
// their own form, whatever the socket: see Canonical.
//
// # Errors
//
// Listen and Dial fail with an OpenError: one sentence that says what to do. Nothing
// that a datagram or its destination can cause ends a socket: such faults have names
// (Fault), are counted in Stats, and cost the one datagram that had them.
//
// # Limits
//
// In limits.go: datagrams and commands a turn, so that a flood starves neither timers
// nor other goroutines, and every queue.
package udp
