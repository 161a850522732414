// Package realm implements the realm dialect: TLS over TCP, big endian, with accounts, terrain, entities, actions that may come
// late, and chat; and a time server over UDP. A program can use it as its whole network layer. docs/protocols/realm.md has the
// bytes and the effect of each message in each state.
//
// # Usage
//
// A server asks Accounts about names and passwords, and passes everything else to the game on its loop. A client reads events
// from an iterator. Messages and their parts are in package core:
//
//	s, err := realm.Listen(":7000", realm.Config{Accounts: accounts}, func(c *realm.Conn, ev realm.Event) {
//		switch ev.Kind {
//		case realm.EventEnter:
//			c.Enter(core.Entry{Entity: core.Entity{ID: newID()}})
//		case realm.EventMessage:
//			… ev.Message: an entity_update, an action_do, a line of chat …
//		}
//	})
//	err = s.Do(func() { s.Mux().BeginTick(time.Now(), tick); s.Mux().Broadcast(&message, nil) })
//
//	c, err := realm.Dial(ctx, "127.0.0.1:7000", realm.Config{Fingerprint: s.Fingerprint()})
//	code, err := c.Login(ctx, "zoé", "correct horse")
//	err = c.Say("salut")
//	for ev := range c.Events() { … }
//
// The wire does not describe attributes and actions: both ends have the same Schema in their Config. examples/tavern registers,
// logs in and talks.
//
// A server may host several worlds. A client logs in as account@room, Event.Question has the room, and the handler places it:
//
//	group := s.Mux().NewGroup(core.GroupConfig{Terrain: land}) // one for each world
//	case realm.EventEnter:
//		err := c.Place(group) // or c.Refuse(core.LoginUnknownPseudo)
//		err = c.Enter(core.Entry{…})
//	…
//	group.BeginTick(due, tick) // at each tick of that world, and then Send, group.Broadcast, group.Say
//
// Without Place, players are in the one world of Mux.Main.
//
// # Life of a message
//
//	server*.go    Listen: internal/stream for thousands of connections, accounts, the time server
//	client*.go    Dial: one connection, and questions for the time
//	core          everything between the bytes and the game: its doc.go names the files
//	config.go     what a user may set; names.go: what users need of core
//
// # Cost
//
// Nothing on the path of a message or a tick allocates. An idle TLS connection takes about 15 KiB (TestTwoThousandConnections),
// and a slow one in its handshake or log-in 12 KiB (TestSlowConnectionsAreCut). BenchmarkUpdatesToTwoThousand compares entity
// updates to 2,000 connections with bare writes of the same bytes.
//
// # What it does not do
//
// It has no world. The effects of updates and actions, interest management and rollback are the game's. The dialect reports ticks
// that are too far away (EventRefused). It does not hash passwords or count attempts: that is for Accounts. Behind a proxy
// (Config.Plain) all addresses are the proxy's.
//
// # Security
//
// TLS 1.2 or 1.3. A client trusts the system's certificate authorities, or only the certificate whose fingerprint it pins. No
// input makes parsing panic, loop or hold more than one message of 1 MiB, or 4 KiB before the log-in. A connection has 5 s for
// handshake and version and 60 s to log in. If too many have not logged in, the newest of the address that has the most is
// closed. The server computes one handshake at a time, addresses take turns, and accepting does not wait for handshakes. The time
// server answers only addresses that have a connection, unless Config.TimeForAll is set. Names, chat and reasons are text from
// untrusted peers: UTF-8, but with any control characters, so escape them where they are logged or shown. A password passes
// through memory as text on its way to Accounts. Nothing here logs it.
package realm
