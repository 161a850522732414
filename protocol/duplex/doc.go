// Package duplex implements the duplex dialect: a connection has two channels, both big endian. Main is TCP (or TLS), for
// reliable state. The feed is UDP, for fast updates. A server has elements, and tells each client of the elements that it may
// see. docs/protocols/duplex.md has the bytes and the effect of each message in each state.
//
// # Usage
//
// Both sides share a Schema, as a message does not contain its own size. It is written with package core:
//
//	schema := &core.Schema{
//		FromServer: core.Elements{Others: core.Kinds(map[uint8]core.Size{1: core.Fixed(8)}), Kinds: true},
//		FromClient: core.Elements{Others: core.Fixed(8)},
//	}
//	s, err := duplex.Listen(":7000", duplex.Config{Schema: schema}, func(c *duplex.Conn, ev duplex.Event) { … })
//	s.Do(func() { s.Scene().Set(sid, data); s.Scene().Flush() }) // once a tick
//	c.HideAll(); c.Show(sid)                                     // in the handler: this client sees this element only
//
// A server of several worlds has a scene for each, and puts each client into one of them by the pass that it shows:
//
//	arena := s.NewScene()                   // in Do or the handler
//	duplex.Config{Judge: judge}             // is told of passes, and must not block
//	c.AnswerPass(0, sid, arena)             // later, in Do: the client's own element is sid
//	duplex.Config{Pass: pass}               // a client's
//
// A client:
//
//	c, err := duplex.Dial(ctx, "host:7000", duplex.Config{Schema: schema})
//	c.Update(c.Player(), data)
//	for ev := range c.Events() { … }
//
// Package core also has the messages, their codec and the state machines of both sides, without a socket, goroutine or
// clock. Its documentation follows an element from file to file.
//
// # Files
//
// names.go has the names of core that users of this package need. server.go listens, and server_main.go is the loop's work
// on mains, which internal/stream carries. client.go and client_core.go are the client.
//
// # Cost
//
// Nothing on the path of an update allocates. A silent main takes about 2 KiB and no goroutine
// (TestFiveThousandMainsAreHeldInLittle). BenchmarkCrowd compares a server of 500 clients and 100 elements with bare writes
// of the same datagrams.
//
// # Limits
//
// Limits of the layout are in core/limits_wire.go and are enforced while parsing. Ours are in Config and core/limits.go, each
// with the attack that it stops. docs/limits.md gives the worst memory of a connection. An address may have 64 mains that have not
// joined, and with TLS 64 more that are in their handshake. None of them has a seat in the game. Every queue has a limit. On
// main, a peer that breaks a rule is disconnected. On the feed, a datagram that breaks a rule is dropped and counted.
//
// # What it does not do
//
// The feed has no acks and no rate control: a game decides how much it changes a tick. The two channels have no common
// order. A sync that main delayed may undo a newer update, and an update that was long in flight may undo one of a newer
// sync, until the next change or the next sync of everything. An element that main has declared gone stays gone. A client
// that connects again needs a new socket for its feed, which Dial opens: a datagram does not identify its connection. The
// package does not check the content of data: its types are the game's, so a float may be NaN and a text may not be UTF-8.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. Main is as safe as TCP, or TLS. The feed has neither encryption
// nor signatures, and apart from the token of 32 bits in FEED_INIT, nothing in a datagram proves its sender. A blind
// attacker who forges the address and port of a peer can inject updates in that player's name, or block the feed with a high
// SEQ. The feed is considered lost 10 s later, and the game goes on over main (TestForgedFeedIsBounded). Moving a feed takes
// a token and main's own address, unless Config.AnyFeedAddr is set. An eavesdropper on main without TLS sees the token.
package duplex
