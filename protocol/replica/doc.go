// Package replica implements the replica dialect: UDP, little endian, one packet per datagram, or several between peers that
// have agreed on it. It has connections, clock synchronisation, acknowledgements, named messages, and replication of the
// variables of entities. A program can use it as its whole network layer.
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
// Values are declared and set in the Store of a Server, shown to connections, and sent with Server.Replicate once a tick. A client
// asks for them with Client.Link and reads them with Client.Do. examples/counter shows it.
//
// Package core has the dialect without a socket: its packets, their codec and the state machines. The types of variables
// (core.DataInt64 and so on) and the reasons why a connection ended (core.ReasonTimeout and so on) are there too.
//
// # Life of a packet
//
//	server.go, client.go     Listen and Dial: the core on a UDP socket, run by internal/shell
//	names.go                 the names of core that users need
//
// and in core:
//
//	mux.go                   server core: finds the connection; new clients, strangers, capacity
//	codec.go, message*.go    Parse and AppendTo, one file for each kind of packet
//	endpoint_bundle.go       several packets in a datagram, between peers that have agreed on it
//	endpoint_recv.go         one connection: checks a packet, gives it to the engine
//	  internal/reliable      new? in order? acknowledge, hold, deliver
//	endpoint_sync.go         the clock
//	linking.go               tables of names, part by part
//	store.go, view.go        what a server replicates, and what one client sees of it
//	frame.go, view_send.go   a tick: written once for all clients that lack the same values, sent to each
//	view_gone.go             entities out of sight, and the fate of packets
//	view_spare.go            memory that the Store lends to views
//	mux_enter.go             from a proven address to a place
//	reading.go               Values: a client's copy of the server's values
//	event.go                 events for the application
//	endpoint_send.go         messages into the window, large ones in parts
//	endpoint_pass.go         a client's pass, and messages whose acknowledgement is told
//	endpoint_offer.go        the same for a client, whose messages wait in its shell
//	endpoint.go              PollTransmit: the next packet to send
//	endpoint_close.go        connecting, leaving, ending
//
// The layouts stand above their parsers. docs/protocols/replica.md has them as tables, with the table of states. Tests check both
// against the code.
//
// # Cost
//
// Parsing, refusing, walking and writing a packet allocate nothing. The worst datagram for a client, of 65,507 bytes, is a table
// of 21,000 empty names, which takes some 70 µs to parse. A server never walks one, as it checks the sender first.
//
// A tick is written once for all clients that see the same entities and lack the same values. Each such client then costs a copy
// (BenchmarkRoom).
//
// BenchmarkThousandConnections compares a server of 1,000 clients with a bare loop of batched system calls. A connection takes
// 2.2 to 2.4 KB.
//
// BenchmarkRush has one client send ordered messages of 64 bytes as fast as possible. A datagram carries 14 of them, and one ack
// many. docs/performance.md has figures of both: W3 and W2.
//
// # Limits
//
// Limits of the layouts are in core/limits_wire.go. Ours are in core/limits.go, each with the attack that it stops. Config has the limits
// that a user may change.
//
// Unacknowledged packets hold at most 1 MiB of memory, buffers and places in queues included. So do received messages that the
// application has not read. A message of the largest size that is in transit holds its size in addition. A server's Send returns
// ErrWindowFull when the first limit is reached, and a client's Send when 256 KiB more are waiting. When the second is reached,
// packets are refused and sent again: a client that stops reading slows its server down. Once it reads again, traffic resumes
// within two round trips. But the sender gives up after ten resends of a packet, or after Timeout if that is longer. So with the
// default Timeout, a client that does not read for 10 to 20 s is closed with core.ReasonUnacknowledged, even if it is otherwise alive.
//
// A connection is identified by the peer's address. If a NAT gives a client another address, the connection is lost. The client
// learns this from the answer to its next packet, and both sides learn it after Timeout at the latest. The client must then dial
// again.
//
// Packets that wait behind a gap share a budget with those of all connections of the server. Incomplete messages of more than 8
// KiB share another. When a budget is used up, a peer waits. With Config.EnterWithin, a connection takes a place when it enters,
// not with its handshake. Until then it has no part in these budgets, and at most 6 KiB of its packets may wait.
//
// # Security
//
// An address is proven when it sends a time that it can know only from our accept. Until then it gets accepts, a few sync packets
// and nothing else. No input makes parsing panic, loop or allocate. The dialect has neither encryption nor signatures: an
// eavesdropper can forge packets.
//
// An attacker who forges a client's address and port, and sees none of its packets, can end that client's connection. More
// than 64 malformed datagrams in 10 s do so. So does a link packet, which has no time, if its number is acceptable and its
// order link is wrong: a hundred such packets end most idle connections. A forged link packet or sync.init can also use up a
// number, so that the packet with that number is taken for a repeat. An ack has no time either: a forged one has its number
// taken for received, and 64 forged runs of acks have all numbers, so that messages on their way may be lost without a word. A
// forged disconnect ends a client's connection with a chance of about one in 32. Messages, sync answers and replicates need
// the connection's clock, which such an attacker cannot know. No other connection is affected.
//
// A reason is text from an untrusted peer. It is UTF-8, but it may hold line ends and other control characters: escape them where
// it is logged or shown.
package replica
