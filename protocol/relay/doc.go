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
//	err = c.Close(ctx) // returns when everything is confirmed
//
// Config.Lobby decides which clients are admitted, and which are in a room together. NewOpenLobby returns a lobby with one room,
// for everybody or for holders of a ticket. core.NewEntryLobby returns one for a server with many rooms, whose handler judges each
// newcomer. Package connector has the lobby of an existing game.
//
// Package core is the dialect without sockets. It has the codec, the state machines for simulations and other loops, what a lobby
// of your own needs (Lobby), the rules of resending (Rules), the reasons of a Close, and the errors of tickets.
//
// # Life of a package
//
//	client.go       Dial, Send: a package waits for the loop of the client
//	core            the client's Endpoint makes it a datagram; core/doc.go has its way file by file
//	  … the wire …
//	server.go       Listen: a port's loop hands the datagram to the Mux, and its events to the handler
//	server_port.go  the loops of further ports, one for each that a lobby opens
//	core            the Mux hands it to the peer, the lobby and the room, and on to all others
//	names.go        the types of the core that every user meets
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
// Limits of the layout are in core/limits_wire.go and are enforced while parsing. Ours are in core.Rules, Config and
// core/limits.go, each with the attack that it stops. Every queue has a limit. Together, these limits keep a peer below 1 MiB.
//
// # What it does not do
//
// A package is not split: its payload has at most MaxPayload bytes. A participant whose address changes is a new participant. A
// client that comes from the port of a former participant within 10 s is ignored. A package does not name its sender: a game that
// needs the sender writes it into the payload, or has a lobby that does so.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor signatures, and ids are
// predictable. An attacker who forges a participant's address can speak for that participant and have it removed, and an
// eavesdropper can do so to everybody (TestInjectionIsBounded). No other participant is affected. An address that has not
// answered a challenge has no seat and no byte of memory, and gets less than three times its own bytes, counting the headers of
// IP and UDP (TestForgedSourcesTakeNoPlace, TestAmplification). A participant that sends too much is slowed down, and nobody is
// removed for it (TestOneSenderRemovesNobody). A ticket admits the first client that shows it, which may be an eavesdropper. It
// can be used again after a restart of the server, unless OpenConfig.Use remembers it.
package relay
