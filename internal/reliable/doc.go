// Package reliable is the engine that replica, stamp and relay share. It keeps each packet sent until it is acknowledged,
// and delivers each packet received once and in order. It works on packet numbers and times alone: it knows no dialect's
// layout and has no socket, clock or goroutine. docs/engine.md explains how it works and lists the measurements.
//
// # Usage
//
// A dialect keeps one Sender and one Receiver for each connection. It first unwraps the packet numbers of its wire format
// to 64 bits:
//
//	n := c.sender.Next()                            // the number of the next packet
//	err := c.sender.Send(now, encode(n), Options{}) // taken, or ErrWindowFull
//	for t, ok := c.sender.Poll(now); ok; t, ok = c.sender.Poll(now) {
//		put(t.Packet)                           // on the wire
//	}
//
//	fate := c.receiver.Receive(now, Packet{Number: n, Reliable: true, Data: b})
//	for d, ok := c.receiver.Next(now); ok; d, ok = c.receiver.Next(now) {
//		deliver(d.Data)
//	}
//	k := c.receiver.Acks(now, numbers[:])           // acknowledge these
//	c.sender.Ack(now, number)                       // and take the peer's
//
// Both also have NextTimeout, which says when to call HandleTimeout.
//
// # Life of a packet
//
//	Sender.Send          sender.go         number, copy, queue; the window's bounds
//	Sender.Poll          sender_poll.go    resends, early resends (early.go), the queue by pacer.go and congestion.go
//	Sender.Join          sender_join.go    the same for a dialect that puts several packets into a datagram
//	  … the wire …
//	Receiver.Receive     receiver.go       received before? (filter.go, holes.go); note its acknowledgement (acks.go)
//	  judgeLane          receiver_order.go deliver now, hold (parcels.go) or refuse
//	Receiver.Next        receiver.go       to the application; parts of one message by assembler.go
//	Receiver.Acks        receiver.go       at once or gathered
//	  … the wire …
//	Sender.Ack           sender_ack.go     round trip (rtt.go), loss (loss.go), packets that later ones have overtaken
//	Sender.HandleTimeout sender_timer.go   resend, report, or give up with a Reason
//	Sender.Budget        path.go           what a tick may send: all transmissions, acknowledgements and losses are told to package pace
//
// # Limits
//
// Every queue has a bound, in SendConfig, ReceiveConfig, AssemblyConfig or limits.go, and every packet ends in one counter
// of SendStats or ReceiveStats. An idle connection costs less than 2 KiB: the Pool lends tables and buffers only while
// something is in flight.
//
// # What it does not do
//
// It does not identify the peer: a dialect proves addresses before it lets packets in. It does not encrypt, and an attacker
// who can guess numbers can forge acknowledgements. An acknowledgement of a number that was never sent is ignored.
package reliable
