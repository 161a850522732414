// Package core is the realm dialect without sockets: messages and their codec, and the state machines of a server and a client.
// Most programs need only package realm, and the messages of this package.
//
// A Mux is a server and an Endpoint made by NewClient is a client, without socket, goroutine or clock. Both are driven by
// HandleBytes, HandleTimeout, PollEvent, PollBytes and NextTimeout. A TimeServer answers requests for the time. A Codec reads and
// writes messages, and a Stream cuts bytes into messages. docs/protocols/realm.md has the bytes and the effect of each message in
// each state.
//
// # Life of a message
//
//	mux.go                    server core: all connections, waiting or in the game
//	group.go                  the players of one world: its ticks, chat and terrain
//	ghost.go                  a log-in of an account that is in: is its old connection still there?
//	endpoint.go               one connection: PollEvent reads, PollBytes writes; timers
//	stream.go                 bytes to messages, however they are cut
//	walk.go                   checks the received part of a message
//	codec.go, message*.go     Parse, AppendTo, and the layouts above their structs
//	schema.go, value.go       the game's attributes and actions
//	endpoint_server.go        a client's messages: opening, questions, chat, ticks
//	endpoint_client.go        a server's messages; Login, Send, temporary ids
//	terrain.go                chunks, within a budget of bytes
//	event.go                  events for the application, and why a connection ended
//	mux_send.go               answers, Enter, Send, and broadcasts, which are encoded once
//	endpoint_send.go          into the queue, within its bound
//	outbox.go, coalesce.go    the queue, and how it shrinks for a slow reader
//	endpoint_close.go         exits and ends
//	clock.go, timeserver.go   the server's time
//	config.go                 what a user may set; limits.go: fixed limits; limits_wire.go: those of the layout
//
// # Cost
//
// Nothing on the path of a message or a tick allocates. Messages to single players do not allocate either, if the game makes
// lists with AppendEntities, AppendAttributes, AppendAction and AppendActions in a buffer of its own.
//
// # Limits
//
// Limits of the layouts are in limits_wire.go. Ours are in limits.go, each with the attack that it stops. Config has the limits
// that a user may change. Every queue has a bound. A client that does not read is sent the newest state only, and is then
// dropped. No input makes parsing panic, loop or hold more than one message of 1 MiB, or 4 KiB before the log-in.
package core
