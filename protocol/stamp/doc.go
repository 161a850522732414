// Package stamp speaks the stamp dialect: UDP, little endian, one packet a
// datagram, each with the sender's time in its 12-byte header. A server sends
// entity packets, clients acknowledge them; docs/protocols/stamp.md has the bytes and
// what each packet does in each state.
//
// # Usage
//
// A server handles events on its loop; a client reads them from an iterator:
//
//	s, err := stamp.Listen(":7000", stamp.Config{}, func(c *stamp.Conn, ev stamp.Event) {
//		if ev.Kind == stamp.EventConnected {
//			c.Send(stamp.Reliable, welcome)
//		}
//	})
//	s.Do(func(m *stamp.Mux) { // from a game's tick
//		for c := range m.Conns() {
//			c.SendReport(snapshot, tick)
//		}
//	})
//
//	c, err := stamp.Dial(ctx, "127.0.0.1:7000", stamp.Config{})
//	for ev := range c.Events() {
//		records := stamp.ReadRecords(ev.Data)
//		…
//	}
//
// examples/spectate is a whole program. Below that the core is pure: no socket, goroutine or
// clock. A Mux is a server, an Endpoint made by NewClient a client, and both are driven by
// the same five calls: HandleDatagram, HandleTimeout, PollEvent and PollTransmit until they
// have no more, NextTimeout. (See the example of Mux.)
//
// The codec stands alone as well: Packet.Parse and AppendTo, which ask who sent it, and
// Records for what a game server puts into the data of an entity packet.
//
// # Life of a packet
//
//	server.go           Listen: a Mux at a socket; Do, Shutdown; on the loop of internal/shell
//	client.go           Dial: an Endpoint at a socket; Events, Close
//	message.go          Side, Kind, Packet, Record: what the bytes say, under their layouts
//	codec.go            Packet.Parse and ParseErr from a datagram, AppendTo into one
//	record.go           Records walks the data of an entity packet, Record.AppendTo fills it
//	endpoint_send.go    Send, SendReport: into the engine, the queue of its order, or straight out
//	endpoint.go         PollTransmit: writes the time of this transmission; the clock, timers, PollEvent
//	  … the wire …
//	mux.go              HandleDatagram: to the connection of its address
//	mux_admit.go        or, without one: accepts, rejections, proofs of an address, notices
//	endpoint_recv.go    HandleDatagram: is it in time, and in state? then to the engine and the clock
//	endpoint_connect.go a client's way in
//	endpoint_close.go   challenges, goodbyes and what is let go at the end
//	event.go            what the application is told, and why a connection ended
//	config.go           what a user may set; limits.go: what not; limits_wire.go: what the layout says
//
// # Cost
//
// Nothing on the way of a packet allocates. A packet of 64 bytes takes 13 ns to read and
// 9 ns to write (two shared cores, best of 8 runs). A server's connection takes 2.2 to 2.3 KB
// while it is used, a handshake no memory at all.
//
// A server that sends 200 bytes to each of 1,000 clients 20 times a second takes 1.09 times the CPU
// time of a bare loop of sendmmsg and recvmmsg that does nothing else for unreliable packets, 1.06 for
// reliable and 0.90 for ordered ones (BenchmarkThousandConnections, on two cores with other work, a load
// of 12, medians of four rounds). On two quiet cores it was 1.19, 1.08 and 1.06 before a tick's own
// goroutine sent what it said.
//
// # Limits
//
// Those of the layout are in limits_wire.go and are enforced while reading; ours are in
// Config and limits.go, each with the attack that it stops. Every queue has one.
//
// A connection takes a place when its client has confirmed an entity packet (EventEntered). A client that
// confirms nothing is sent less and less, then nothing, and is closed after 10 s.
//
// # What it does not do
//
// A client sends no data: the document gives it no packet for that. One socket serves a
// whole server, on one core at a time. A client behind a NAT that
// gives it a new port is a stranger there; it is lost after 10 s and connects again. Large
// data is not split: an entity packet has at most MaxData bytes. Parse does not copy: clone
// Reason and Data if they are to outlive the buffer that a socket reads into. It does
// not judge what a record's fields hold: their types are the game's, so a float among them may
// be NaN and a text may not be UTF-8.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor
// signatures: whoever can see the packets can forge them, and so read, change and end
// that one session (TestInjectionByAnEavesdropperIsBounded). Whoever cannot see them would
// have to guess a clock of 62 bits to within 10 s, and gets nothing done without
// (TestBlindInjectionHarmsNothing): no connection, no end of one, no more than three bytes for
// each that it sends. A reason is text that a stranger may have written; ReasonText makes it
// UTF-8, but it may hold line ends and other control characters, which matters where it
// is logged or shown.
package stamp
