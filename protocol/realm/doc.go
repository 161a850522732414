// Package realm speaks the realm dialect: TLS over TCP, big endian, with accounts, terrain,
// entities, actions that may come late, and chat; and a time server over UDP. It is complete
// on its own: a program can use it as its whole network layer. docs/protocols/realm.md has
// the bytes and what each message does in each state.
//
// # Usage
//
// A server asks Accounts about names and passwords, and tells the game of everything else on
// its loop; a client reads events from an iterator:
//
//	s, err := realm.Listen(":7000", realm.ServerConfig{Accounts: accounts}, func(c *realm.Conn, ev realm.Event) {
//		switch ev.Kind {
//		case realm.EventEnter:
//			c.Enter(realm.Entry{Entity: realm.Entity{ID: newID()}})
//		case realm.EventMessage:
//			… ev.Message: an entity_update, an action_do, what was said …
//		}
//	})
//	err = s.Do(func(m *realm.Mux) { m.BeginTick(time.Now(), tick); m.Broadcast(&message, nil) })
//
//	c, err := realm.Dial(ctx, "127.0.0.1:7000", realm.ClientConfig{Fingerprint: s.Fingerprint()})
//	code, err := c.Login(ctx, "zoé", "correct horse")
//	err = c.Say("salut")
//	for ev := range c.Events() { … }
//
// What attributes and actions look like nothing on the wire says: both ends have the same
// Schema in their Config. examples/tavern registers, logs in and talks.
//
// The core is pure: a Mux is a server and an Endpoint made by NewClient a client, without
// socket, goroutine or clock. Both are driven by HandleBytes, HandleTimeout, PollEvent,
// PollBytes and NextTimeout.
//
// # The life of a message, by file
//
//	server*.go, client*.go    the shell: internal/stream for thousands of connections, Listen and Dial
//	mux.go                    server core: all connections; who waits, who is in the game
//	endpoint.go               one connection: PollEvent reads what came, PollBytes what goes; timers
//	stream.go                 bytes to messages, however they are cut
//	walk.go                   judges a message as far as it has come
//	codec.go, message*.go     Parse, AppendTo, and the layouts above their structs
//	schema.go, value.go       what the game's attributes and actions are
//	endpoint_server.go        what a client's messages do: opening, questions, chat, ticks
//	endpoint_client.go        what a server's do; Login, Send, temporary ids
//	terrain.go                chunks, within a budget of bytes
//	event.go                  what the application is told, and why a connection ended
//	mux_send.go               answers, Enter, Send, and broadcasts, which are encoded once
//	endpoint_send.go          into the queue, within its bound
//	outbox.go, coalesce.go    the queue, and how it shrinks for who reads too slowly
//	endpoint_close.go         exits and ends
//	clock.go, timeserver.go   the server's time
//	config.go                 what a user may set; limits.go: what not; limits_wire.go: what the layout says
//
// # Cost
//
// Nothing on the way of a message or a tick allocates; what a game says to each player alone
// does not either if it makes lists with AppendEntities, AppendAttributes, AppendAction and
// AppendActions in a buffer of its own. An idle TLS connection takes about 15 KiB
// (TestTwoThousandConnections), a slow one in its handshake or log-in 12 (TestSlowConnectionsAreCut). 200 entity updates a second to each of 2,000
// connections take 1.0 to 1.2 times the CPU of writing the same bytes to the same connections
// (BenchmarkUpdatesToTwoThousand, two shared cores).
//
// # Limits
//
// Those of the layouts are in limits_wire.go, ours in limits.go, each with the attack that it
// stops; what a user may change is in Config. Every queue has a bound: a client that does not
// read is sent the newest state only, and then dropped, and nobody waits for it.
//
// # What it does not do
//
// It has no world: what an update or an action does, who sees what, and going back in time for
// what came late are the game's; the dialect says which ticks are too far away (EventRefused).
// It does not hash passwords or count tries: that is what Accounts is for. Behind a proxy
// (ServerConfig.Plain) all addresses are the proxy's.
//
// # Security
//
// TLS 1.2 or 1.3. A client trusts what the system trusts, or just the certificate whose
// fingerprint it pins. No input makes reading panic, loop or hold more than one message of
// 1 MiB, or 4 KiB before the log-in. A connection has 5 s for handshake and version and 60 s to
// log in; of too many that have not, the oldest goes. Handshakes compute twice as many at once
// as there are cores, and accepting waits for none. The time server answers only addresses that
// have a connection. Names, chat and reasons are text from strangers: UTF-8, but with whatever
// control characters, which matters where they are logged or shown. A password passes through
// memory as text on its way to Accounts; nothing here logs it.
package realm
