// Package realm implements the realm dialect: TLS over TCP, big endian, with accounts, terrain, entities, actions that may come
// late, and chat; and a time server over UDP. A program can use it as its whole network layer. docs/protocols/realm.md has the
// bytes and the effect of each message in each state.
//
// # Usage
//
// A server asks Accounts about names and passwords, and passes everything else to the game on its loop. A client reads events
// from an iterator:
//
//	s, err := realm.Listen(":7000", realm.ServerConfig{Accounts: accounts}, func(c *realm.Conn, ev realm.Event) {
//		switch ev.Kind {
//		case realm.EventEnter:
//			c.Enter(realm.Entry{Entity: realm.Entity{ID: newID()}})
//		case realm.EventMessage:
//			… ev.Message: an entity_update, an action_do, a line of chat …
//		}
//	})
//	err = s.Do(func(m *realm.Mux) { m.BeginTick(time.Now(), tick); m.Broadcast(&message, nil) })
//
//	c, err := realm.Dial(ctx, "127.0.0.1:7000", realm.ClientConfig{Fingerprint: s.Fingerprint()})
//	code, err := c.Login(ctx, "zoé", "correct horse")
//	err = c.Say("salut")
//	for ev := range c.Events() { … }
//
// The wire does not describe attributes and actions: both ends have the same Schema in their Config. examples/tavern registers,
// logs in and talks.
//
// The core is pure: a Mux is a server and an Endpoint made by NewClient is a client, without socket, goroutine or clock. Both are
// driven by HandleBytes, HandleTimeout, PollEvent, PollBytes and NextTimeout.
//
// # Life of a message
//
//	server*.go, client*.go    the shell: internal/stream for thousands of connections, Listen and Dial
//	mux.go                    server core: all connections, waiting or in the game
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
// lists with AppendEntities, AppendAttributes, AppendAction and AppendActions in a buffer of its own. An idle TLS connection
// takes about 15 KiB (TestTwoThousandConnections), a slow one in its handshake or log-in 12 (TestSlowConnectionsAreCut).
// BenchmarkUpdatesToTwoThousand compares entity updates to 2,000 connections with bare writes of the same bytes.
//
// # Limits
//
// Limits of the layouts are in limits_wire.go. Ours are in limits.go, each with the attack that it stops. Config has the limits
// that a user may change. Every queue has a bound. A client that does not read is sent the newest state only, and is then
// dropped. Nobody waits for it.
//
// # What it does not do
//
// It has no world. The effects of updates and actions, interest management and rollback are the game's. The dialect reports ticks
// that are too far away (EventRefused). It does not hash passwords or count attempts: that is for Accounts. Behind a proxy
// (ServerConfig.Plain) all addresses are the proxy's.
//
// # Security
//
// TLS 1.2 or 1.3. A client trusts what the system trusts, or only the certificate whose fingerprint it pins. No input makes
// parsing panic, loop or hold more than one message of 1 MiB, or 4 KiB before the log-in. A connection has 5 s for handshake and
// version and 60 s to log in. If too many have not logged in, the newest of the address that has the most is closed. One
// handshake computes at a time, addresses take turns, and accepting waits for none. The time server answers only addresses that
// have a connection, unless ServerConfig.TimeForAll is set. Names, chat and reasons are text from untrusted peers: UTF-8, but
// with any control characters, so take care where they are logged or shown. A password passes through memory as text on its way
// to Accounts. Nothing here logs it.
package realm
