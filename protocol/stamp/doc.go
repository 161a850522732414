// Package stamp implements the stamp dialect: UDP, little endian, one packet per datagram, each with the
// sender's time in its 12-byte header. A server sends entity packets, and clients acknowledge them.
// docs/protocols/stamp.md has the bytes and the effect of each packet in each state.
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
//	s.Do(func() { // from a game's tick
//		for c := range s.Conns() {
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
// examples/spectate is a whole program. Package core has the rest of the dialect: the packets and their
// codec, the reasons why a connection ends, and the state machines of a connection and of a server,
// without socket, goroutine and clock.
//
// # Life of a packet
//
//	server.go           Listen: a Mux with a socket; Do, Shutdown; on the loop of internal/shell
//	client.go           Dial: an Endpoint with a socket; Events, Close
//	names.go            the names of core that users need
//
// and in core:
//
//	message.go          Side, Kind, Packet, Record: the packets, under their layouts
//	codec.go            Packet.Parse and ParseErr from a datagram, AppendTo into one
//	record.go           Records walks the data of an entity packet, Record.AppendTo fills it
//	endpoint_send.go    Send, SendReport: into the engine, the queue of its order, or straight out
//	endpoint.go         PollTransmit: writes the time of this transmission; the clock, timers, PollEvent
//	  … the wire …
//	mux.go              HandleDatagram: to the connection of its address
//	mux_admit.go        or, without one: accepts, rejections, proofs of an address, notices
//	endpoint_recv.go    HandleDatagram: is it in time, and in state? then to the engine and the clock
//	endpoint_connect.go how a client connects
//	endpoint_close.go   challenges, goodbyes and the release of memory at the end
//	event.go            events for the application, and why a connection ended
//	config.go           what a user may set; limits.go: fixed limits; limits_wire.go: those of the layout
//
// # Cost
//
// Nothing on the path of a packet allocates. A server's connection takes 2.2 to 2.3 KB while it is used,
// and a handshake takes no memory at all.
//
// BenchmarkThousandConnections compares a server of 1,000 clients with a bare loop of sendmmsg and
// recvmmsg. docs/performance.md has figures of this work (W3).
//
// # Limits
//
// Limits of the layout are in core/limits_wire.go and are enforced while parsing. Ours are in Config and
// core/limits.go, each with the attack that it stops. Every queue has a limit.
//
// A connection takes a place when its client has confirmed an entity packet (EventEntered). A client that
// confirms nothing is sent less and less, then nothing, and is closed after 10 s.
//
// # What it does not do
//
// A client sends no data: the protocol has no packet for it. A server has one socket, and uses one core
// at a time. A client whose NAT gives it a new port is a stranger to the server: its connection is lost
// after 10 s, and it must connect again. Large data is not split: an entity packet has at most MaxData
// bytes. Nothing checks the fields of a record: their types are the game's, so a float may be NaN and a
// text may not be UTF-8.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor
// signatures: an eavesdropper can forge packets, and so read, change and end that one session
// (TestInjectionByAnEavesdropperIsBounded). A blind attacker would have to guess a clock of 62 bits to
// within 10 s (TestBlindInjectionHarmsNothing). Without that, it can neither open nor end a connection,
// and gets at most three bytes for each that it sends. Close.Text is text from an untrusted peer. It is
// UTF-8, but may hold line ends and other control characters: escape them where it is logged or shown.
package stamp
