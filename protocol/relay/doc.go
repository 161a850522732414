// Package relay speaks the relay dialect: UDP, big endian, packages of at most 504 bytes that a
// server passes on between the participants of a game, in three modes of reliability;
// docs/protocols/relay.md has the bytes, the rules of a room and what each message does in each
// state.
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
// Who may come in, and who is with whom, is up to Config.Lobby: NewOpenLobby makes a room for
// everybody or for who has a ticket, package connector the lobby of an existing game, and
// a Lobby of one's own needs five methods. Without sockets, a Mux is the core of a server
// and NewClient makes that of a client, for simulations and other loops.
//
// # Life of a package
//
//	message.go          Datagram: what the bytes say, under their layout
//	codec.go            Parse and ParseErr from a datagram, AppendTo into one
//	endpoint_send.go    Send: into the engine, its backlog, or the queue of unreliable ones
//	endpoint_queue.go   Queue: messages share a package (builder.go)
//	endpoint.go         PollTransmit: writes header and payload; timers, confirmations
//	  … the wire …
//	port.go             HandleDatagram: to the peer of its address, or the lobby is asked
//	endpoint_recv.go    is it one of ours, is it known? then to the engine
//	peer.go             nextEvent: by its order to the lobby, and to the game if that says so
//	lobby_open.go       the lobby open; challenge.go: its proof, ticket.go, waiting.go: its tickets
//	share.go            may its sender send this much? if not, it waits or is dropped
//	room.go             Relay: to every other participant, its bytes kept once
//	backlog.go          what waits for a receiver's window: a line for each sender, by turns
//	direct.go           to those for whom nothing waits: ready for the wire at once
//	endpoint_join.go    a client's way in, its answers to challenges
//	endpoint_close.go   leaving, and what is let go at the end
//	mux.go              the ports of one server; server.go, server_port.go, client.go: sockets
//	rules.go            what a lobby may set; limits.go: what not; limits_wire.go: the layout's
//
// # Cost
//
// Nothing on the way of a package allocates. In a room the bytes of a package are kept once for
// all who get it; each of them costs 24 bytes in a queue, or 150 in the engine until it is
// confirmed. The core takes about 0.1 µs to pass a package on to one participant, 0.3 µs if
// it is reliable, with its confirmation; sending it takes the kernel ten times that
// (BenchmarkRelay). A turn of the loop sends all that it has, 64 datagrams in one system
// call. A room of 32 with 30 packages of 100 bytes a second each takes 0.95
// times the CPU of a bare fan-out loop for unreliable packages, 1.25 for unordered and 1.24 for
// semi-ordered ones, confirmations counted on both sides (BenchmarkRoomOf32, medians of ten rounds on two
// quiet cores).
//
// # Limits
//
// Those of the layout are in limits_wire.go and are enforced while reading; ours are in Rules,
// Config and limits.go, each with the attack that it stops. Every queue has one: together they
// keep a peer below 1 MiB.
//
// # What it does not do
//
// A package is not split: its payload has at most MaxPayload bytes. A participant whose address
// changes is a newcomer, and one that comes back at the port of its former self within 10 s is
// not listened to. Parse does not copy: clone what is to outlive the buffer. Nothing in a
// package says who sent it: a game that wants to know writes it into the payload, or has a lobby
// that does.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor
// signatures, and ids are known beforehand: whoever can send in a participant's name can speak
// for it and have it removed, and whoever can see the datagrams can do so to everybody
// (TestInjectionIsBounded). Nobody can touch those in whose name it does not send. An address that
// has not answered a challenge has no place and no byte of memory, and gets less than three times its own bytes, the headers of
// IP and UDP counted (TestForgedSourcesTakeNoPlace, TestAmplification). A participant that sends too much
// is slowed, and removes nobody (TestOneSenderRemovesNobody). A ticket can be
// used by who sees it first, and again at a server that has restarted meanwhile, unless
// OpenConfig.Use remembers.
package relay
