// Package reliable is the engine that replica, stamp and relay share: what is
// sent is kept until it is acknowledged, what is received is delivered once and
// in order. It knows numbers and times, no bytes of any dialect, no socket, no
// clock and no goroutine; docs/engine.md tells how it works and what it measured.
//
// # Usage
//
// A dialect keeps one Sender and one Receiver a connection and unwraps the
// numbers of its wire to 64 bits before it asks them anything:
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
// Both have NextTimeout and HandleTimeout, as everything pure here does.
//
// # The life of a packet
//
//	Sender.Send          sender.go         number, copy, queue; the window's bounds
//	Sender.Poll          sender_poll.go    resends, copies ahead of loss (early.go), the queue by pacer.go and congestion.go
//	  … the wire …
//	Receiver.Receive     receiver.go       known? (filter.go, holes.go); owed an acknowledgement (acks.go)
//	  judgeLane          receiver_order.go deliver now, hold (parcels.go) or refuse
//	Receiver.Next        receiver.go       to the application; parts of one message by assembler.go
//	Receiver.Acks        receiver.go       at once or gathered
//	  … the wire …
//	Sender.Ack           sender_ack.go     round trip (rtt.go), loss (loss.go), what later ones have passed
//	Sender.HandleTimeout sender_timer.go   resend, report, or give up with a Reason
//
// # Limits
//
// Every queue has a bound, in SendConfig, ReceiveConfig, AssemblyConfig or
// limits.go, and every packet ends in one counter of SendStats or ReceiveStats.
// An idle connection costs less than 2 KiB: tables and buffers are lent by
// Buffers only while something is in flight.
//
// # What it does not do
//
// It does not know who the peer is: a dialect proves addresses before it lets
// packets in. It does not encrypt, and acknowledgements can be forged by who can
// guess numbers; a forged one for a number that was never sent is ignored.
package reliable
