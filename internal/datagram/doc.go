// Package datagram has the interfaces of a core and of the carrier that brings its datagrams, and the loop
// that joins the two.
//
// A Core is a dialect's server or client, without a socket and a clock. A Carrier moves datagrams in batches:
// package udp has the sockets. A Loop owns one of each, and moves datagrams between them on a single goroutine.
//
// # Usage
//
//	s, err := udp.Listen(":7000", udp.Config{})
//	…
//	l := datagram.StartLoop(s, core, datagram.LoopConfig{AfterTurn: drainEvents})
//	defer l.Close()
//	err = l.Do(func() { core.Kick(player) }) // on the loop's goroutine
//
// # Life of a datagram
//
//	carrier.go       Carrier.Serve fills a RecvBatch and calls the loop's turn
//	recv_batch.go    Next returns one datagram after the other
//	loop_turn.go     each goes to Core.HandleDatagram; then commands, timeouts and AfterTurn run
//	loop_turn.go     Core.PollTransmit writes into the buffer of a SendBatch (send_batch.go)
//	carrier.go       Carrier.WriteInTurn sends the batch
//
// A core without datagrams, whose bytes go over streams, has the carrier of silent.go.
//
// Other goroutines reach the core by commands or between two turns (loop_command.go). A game's tick uses
// Loop.Visit, which sends small output itself, as waking the loop would cost more.
//
// # Limits
//
// limits.go has all limits. A turn handles at most LoopConfig.TurnDatagrams datagrams and sends at most 4,096
// before timers and commands run. Every queue is bounded, and every drop is counted in Stats (stats.go).
//
// # What it does not do
//
// It does not order, retransmit or acknowledge: package reliable does. A loop has one carrier. To join several,
// write a Carrier that merges them.
package datagram
