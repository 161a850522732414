// Package reliable is the engine that replica, stamp and relay share. What is sent is kept until it is acknowledged; what
// is received is delivered once and in order. It knows numbers and times, no bytes of any dialect, no socket, no clock and
// no goroutine. docs/engine.md tells how it works and has the measurements.
//
// # Usage
//
// A dialect keeps one Sender and one Receiver a connection, and unwraps the numbers of its wire to 64 bits first:
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
// Both have NextTimeout and HandleTimeout, as all pure types here do.
//
// # Life of a packet
//
//	Sender.Send          sender.go         number, copy, queue; the window's bounds
//	Sender.Poll          sender_poll.go    resends, copies ahead of loss (early.go), the queue by pacer.go and congestion.go
//	  … the wire …
//	Receiver.Receive     receiver.go       known? (filter.go, holes.go); owed an acknowledgement (acks.go)
//	  judgeLane          receiver_order.go deliver now, hold (parcels.go) or refuse
//	Receiver.Next        receiver.go       to the application; parts of one message by assembler.go
//	Receiver.Acks        receiver.go       at once or gathered
//	  … the wire …
//	Sender.Ack           sender_ack.go     round trip (rtt.go), loss (loss.go), packets that later ones have passed
//	Sender.HandleTimeout sender_timer.go   resend, report, or give up with a Reason
//
// # Limits
//
// Every queue has a bound, in SendConfig, ReceiveConfig, AssemblyConfig or limits.go, and every packet ends in one counter
// of SendStats or ReceiveStats. An idle connection costs less than 2 KiB: Buffers lends tables and buffers only while
// something is in flight.
//
// # What it does not do
//
// It does not identify the peer: a dialect proves addresses before it lets packets in. It does not encrypt, and an attacker
// who can guess numbers can forge acknowledgements. An acknowledgement of a number that was never sent is ignored.
package reliable
