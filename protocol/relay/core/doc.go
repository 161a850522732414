// Package core is the relay dialect without sockets, goroutines and clocks: the codec, the state machines of a client and of a
// server, the rooms, and the lobbies that decide which clients are admitted. Package relay puts sockets around it, and most users
// need no more than that. This package is for lobbies, simulations, tools and other loops.
//
// # Usage
//
// A Mux is the core of a server, and NewClient makes the core of a client. Both are driven by the same five calls: HandleDatagram
// and HandleTimeout, then PollEvent and PollTransmit until each returns false, then NextTimeout. See the example of Lobby. The
// codec can be used alone as well:
//
//	var d core.Datagram
//	if d.Parse(b) && d.Kind == core.KindPackage {
//		…
//	}
//
// A Lobby of your own needs five methods. OpenLobby and EntryLobby are lobbies, and package connector has another, which is a Doorman as well.
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
//	entry.go            the lobby of a server with many rooms; newcomer.go: those who wait to be let in
//	share.go            may its sender send this much? if not, it waits or is dropped
//	room.go             Relay: to every other participant, its bytes kept once
//	backlog.go          packages that wait for a receiver's window: a queue for each sender, in turns
//	direct.go           to receivers for whom nothing waits: ready for the wire at once
//	endpoint_join.go    how a client joins, and its answers to challenges
//	endpoint_close.go   leaving, and the release of memory at the end
//	mux.go              the ports of one server
//	names.go            types of other packages that users meet
//	rules.go            what a lobby may set; limits.go: fixed limits; limits_wire.go: those of the layout
//
// # Limits
//
// Limits of the layout are in limits_wire.go and are enforced while parsing. Ours are in Rules, Config and limits.go, each with
// the attack that it stops. Every queue has a limit. Together, these limits keep a peer below 1 MiB. Parse does not copy: clone
// what must outlive the buffer. The documentation of package relay says what the dialect protects against and what it does not.
package core
