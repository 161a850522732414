// Package replica speaks the replica dialect: UDP, little endian, one packet a
// datagram; connections, clock synchronisation, acknowledgements, named messages,
// and replication of the variables of entities. It is complete on its own: a
// program can use it as its whole network layer.
//
// # Usage
//
// A server handles events on its loop; a client reads them from an iterator:
//
//	s, err := replica.Listen(":7000", replica.Config{}, func(c *replica.Conn, ev replica.Event) {
//		if ev.Kind == replica.EventMessage {
//			c.Send(replica.Ordered, "echo", ev.Data)
//		}
//	})
//
//	c, err := replica.Dial(ctx, "127.0.0.1:7000", replica.Config{})
//	err = c.Send(replica.Reliable, "hello", []byte("world"))
//	for ev := range c.Events() {
//		fmt.Println(ev.Kind, string(ev.Name), string(ev.Data))
//	}
//
// Values are declared and set in the Store of a Mux, shown to connections, and
// sent with Mux.Replicate once a tick; a client asks for them with Endpoint.Link
// and reads them with Value and EntityValue. examples/counter does just that.
//
// # The life of a packet, by file
//
//	server.go, client.go     the shell: a socket loop of internal/udp, Listen and Dial
//	mux.go                   server core: which connection; newcomers, strangers, capacity
//	codec.go, message*.go    Parse and AppendTo, a file a kind of packet
//	endpoint_recv.go         one connection: judge a packet, hand it to the engine
//	  internal/reliable      known? in order? acknowledge, hold, deliver
//	endpoint_sync.go         the clock
//	linking.go               tables of names, piece by piece
//	store.go, view.go        what a server replicates, and what one client sees of it
//	frame.go, view_send.go   a tick: written once for all who lack the same, sent to each
//	view_gone.go             what is no longer in sight, and the fate of packets
//	view_spare.go            what views are made of, which the Store lends them
//	reading.go               what a client knows of the server's world
//	event.go                 what the application is told
//	endpoint_send.go         messages into the window, large ones in parts
//	endpoint_offer.go        the same for a client, whose messages wait in its shell
//	endpoint.go              PollTransmit: what goes out next
//	endpoint_close.go        connecting, leaving, ending
//
// The layouts stand above their readers, and as tables in docs/protocols/replica.md
// beside the table of states; tests hold both against the code.
//
// # Cost
//
// Reading, refusing, walking and writing a packet allocate nothing. A message of 64
// bytes takes 31 ns to read and 11 ns to write, a full replicate of 1,200 bytes with
// 190 values 1.2 µs to read and 1.7 µs to write (two cores shared with other work,
// best of 20 runs). The worst that a datagram of 65,507 bytes can ask of a client is a
// table of 21,000 empty names, some 70 µs (a third of the 190 µs that it took; not
// measured on a quiet machine); a server never walks one, since the sender is judged first.
//
// A tick is written once for all clients who see the same and lack the same of it, and costs a copy
// a client: BenchmarkRoom, 100 clients who see 100 objects that move, takes 0.5 µs a
// client and tick, its packet and its ack included, without the socket.
//
// BenchmarkThousandConnections has a server with 1,000 clients, each of which sends 32
// bytes and gets 200, 20 times a second. On two cores with other work (a load of 11, medians of four
// rounds): 0.82 times the CPU of a bare batched loop for unreliable messages, 1.01 for
// reliable and 0.94 for ordered ones; nothing was lost, and a connection took 2.2 to 2.4 KB. On
// two quiet cores it was 1.28, 1.24 and 1.21 before the loop's waits stopped to pass through Go's scheduler;
// it was not measured on quiet ones since. That it can be below the bare loop is because a busy loop gathers what it
// reads (Config.Gather of internal/udp), and because neither that nor its system calls wake the
// scheduler's watchman, as the bare loop's do.
//
// BenchmarkRush has one client send ordered messages of 64 bytes as fast as they go. Each is a
// datagram and has an ack, but a system call carries 256: packets of one size leave in trains,
// and so do acks. With a load of 11 on two cores, 1.1 to 1.2 million arrived a second, and a
// million cost both processes 0.56 to 0.66 s of CPU, of which a fifth is the kernel's; bare
// trains of as many datagrams took 0.11 s.
//
// # Limits
//
// Those of the layouts are in limits_wire.go, ours in limits.go, each with the attack
// that it stops; what a user may change is in Config.
//
// What was sent and is not acknowledged holds 1 MiB at most, buffers and places in
// queues included, and so does what was received and is not read; a message of the
// largest size on its way holds its size beside that. When the first is full, Send returns
// ErrWindowFull; a client's Send does so when 256 KiB wait for that besides. When the second is, packets are refused and come again: a client that
// stops reading slows its server down, and all goes on within two round trips once it
// reads. But a packet is sent ten times and no more, so a client that does not read for
// 10 to 20 s is given up with ReasonUnacknowledged, however well it is otherwise.
//
// A connection is known by the peer's address. If a NAT gives a client another one, the
// connection is lost: the client learns it by the answer to its next packet, and both
// sides after Timeout at the latest; then it dials anew.
//
// Packets that wait behind a gap, and half-sent messages of more than 8 KiB, share a budget of all
// connections; a peer that finds it used up waits. With Config.EnterWithin a connection takes a place when it
// enters, and not with its handshake; until then it has no part in that budget, and 6 KiB of it may wait.
//
// # Security
//
// Before an address has shown that it receives what we send to it, by a time that
// only our accept can have told it, it gets accepts and a few sync packets and
// nothing else. No input makes reading panic, loop or allocate. The dialect has
// neither encryption nor signatures: whoever sees the packets can forge them.
//
// Who can forge a client's address and port, and sees none of its packets, can end
// that client's connection: by more than 64 malformed datagrams in 10 s, or by a link
// packet, which has no time, whose number may come and whose order link is wrong (36
// of 50 idle sessions fell to at most 100 such packets). A forged link packet or
// sync.init can also use up a number, so that the packet that has it is taken for a
// repeat. Towards a client a forged disconnect has a chance of about one in 32.
// Messages, sync answers and replicates need the connection's clock, which such a
// forger cannot know, and no other connection is touched.
//
// A reason is text from a stranger: ReasonText makes it UTF-8, but it may hold line
// ends and other control characters, which matters where it is logged or shown.
package replica
