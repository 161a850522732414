// Package relay implements the relay dialect: UDP, big endian. A server passes packages of at most 504 bytes between the
// participants of a game, in three modes of reliability. docs/protocols/relay.md has the bytes, the rules of a room and the
// effect of each message in each state.
//
// # Usage
//
//	s, err := relay.Listen(":7003", relay.Config{}, func(p *relay.Peer, ev relay.Event) {
//		if ev.Kind == relay.EventPackage { // one for the server
//			p.Room().Say(relay.Unordered, ev.Package.Payload)
//		}
//	})
//
//	c, err := relay.Dial(ctx, "game.example:7003", relay.Config{})
//	err = c.Send(relay.SemiOrdered, relay.ToOthers, move)
//	for ev := range c.Events() {
//		…
//	}
//	err = c.Close(ctx) // when all is confirmed
//
// Config.Lobby decides which clients are admitted, and which are in a room together. NewOpenLobby makes a room for everybody or
// for holders of a ticket. Package connector has the lobby of an existing game. A Lobby of your own needs five methods. Without
// sockets, a Mux is the core of a server and NewClient makes that of a client, for simulations and other loops.
//
// # Life of a package
//
//	message.go          Datagram: the packets, under their layout
//	codec.go            Parse and ParseErr from a datagram, AppendTo into one
//	endpoint_send.go    Send: into the engine, its backlog, or the queue of unreliable packages
//	endpoint_queue.go   Queue: messages share a package (builder.go)
//	endpoint.go         PollTransmit: writes header and payload; timers, confirmations
//	  … the wire …
//	port.go             HandleDatagram: to the peer of its address, or to the lobby
//	endpoint_recv.go    is it valid, is it new? then to the engine
//	peer.go             nextEvent: in its order to the lobby, and to the game if the lobby says so
//	lobby_open.go       the lobby open; challenge.go: its proof, ticket.go, waiting.go: its tickets
//	share.go            may its sender send this much? if not, it waits or is dropped
//	room.go             Relay: to every other participant, its bytes kept once
//	backlog.go          packages that wait for a receiver's window: a queue for each sender, in turns
//	direct.go           to receivers for whom nothing waits: ready for the wire at once
//	endpoint_join.go    how a client joins, and its answers to challenges
//	endpoint_close.go   leaving, and the release of memory at the end
//	mux.go              the ports of one server; server.go, server_port.go, client.go: sockets
//	rules.go            what a lobby may set; limits.go: fixed limits; limits_wire.go: those of the layout
//
// # Cost
//
// Nothing on the path of a package allocates. In a room, the bytes of a package are kept once for all receivers. Each receiver
// costs 24 bytes in a queue, or 150 in the engine until it has confirmed. A turn of the loop sends all that it has, 64
// datagrams in one system call. BenchmarkRelay measures the core, and BenchmarkRoomOf32 compares a room of 32 with a bare
// fan-out loop.
//
// # Limits
//
// Limits of the layout are in limits_wire.go and are enforced while parsing. Ours are in Rules, Config and limits.go, each with
// the attack that it stops. Every queue has one: together they keep a peer below 1 MiB.
//
// # What it does not do
//
// A package is not split: its payload has at most MaxPayload bytes. A participant whose address changes is a new one, and one
// that comes back from the port of a former one within 10 s is ignored. Parse does not copy: clone what must outlive the
// buffer. A package does not name its sender: a game that needs the sender writes it into the payload, or has a lobby that
// does.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor signatures, and ids are
// predictable. An attacker who forges a participant's address can speak for that participant and have it removed, and an
// eavesdropper can do so to everybody (TestInjectionIsBounded). No other participant is affected. An address that has not
// answered a challenge has no seat and no byte of memory, and gets less than three times its own bytes, counting the headers of
// IP and UDP (TestForgedSourcesTakeNoPlace, TestAmplification). A participant that sends too much is slowed down, and nobody is
// removed for it (TestOneSenderRemovesNobody). A ticket can be used by the first client that sees it. It can be used again
// after a restart of the server, unless OpenConfig.Use remembers.
package relay
