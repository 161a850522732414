// Package duplex implements the duplex dialect: a connection has two channels, both big endian. Main is TCP (or TLS), for
// reliable state. The feed is UDP, for fast updates. A server has elements, and each client knows those that it may see.
// docs/protocols/duplex.md has the bytes and the effect of each message in each state.
//
// # Usage
//
// Both sides share a Schema, as a message does not contain its own size:
//
//	schema := &duplex.Schema{
//		FromServer: duplex.Elements{Others: duplex.Kinds(map[uint8]duplex.Size{1: duplex.Fixed(8)}), Kinds: true},
//		FromClient: duplex.Elements{Others: duplex.Fixed(8)},
//	}
//	s, err := duplex.Listen(":7000", duplex.Config{Schema: schema}, func(c *duplex.Conn, ev duplex.Event) { … })
//	s.Do(func(m *duplex.Mux) { m.Set(sid, data); m.Flush() }) // once a tick
//	c.HideAll(); c.Show(sid)                                  // if it may not see everything
//
//	c, err := duplex.Dial(ctx, "host:7000", duplex.Config{Schema: schema})
//	c.Update(c.Player(), data)
//	for ev := range c.Events() { … }
//
// Without a socket, goroutine or clock: NewMux and NewClient are pure. Endpoint lists the calls that drive them.
//
// # Life of an element
//
//	elements.go         Mux.Set stores it, Mux.Flush puts it into the log of changes
//	sight.go            which changes are for a client, on main and on the feed
//	view.go             elements new to a client go on main, known ones on the feed; syncs of everything
//	endpoint_send.go    Update, Sync, Signal: the queue of main, PollBytes
//	feed.go             SEQ, PollTransmit, FEED_INIT and the fall-back to main
//	  … the wires …
//	stream.go           cuts main into messages, by schema.go
//	endpoint_main.go    HandleBytes: which message is it, and is it valid in this state?
//	endpoint_feed.go    HandleDatagram: the same, and is it newer than all before?
//	sync.go             what a client knows; elements that a sync did not name are gone
//	inbox.go, event.go  events for the application
//
// Besides these: message.go and codec.go (the bytes), query.go (queries and replies), mux.go and mux_admit.go (admission,
// passes, tokens, feeds that move), conn.go (a server's calls for one client), outbox.go (the queue of main),
// endpoint_close.go (ends), limits.go and limits_wire.go. The shell is server.go (listening), server_turn.go (the loop's
// work on mains), server_main.go (one main with its socket), server_poll_linux.go (one reader for all mains of a server;
// elsewhere, and with TLS, each main has a goroutine), client.go and client_core.go.
//
// # Cost
//
// Nothing on the path of an update allocates. A silent main takes about 2 KiB and no goroutine
// (TestFiveThousandMainsAreHeldInLittle). BenchmarkCrowd compares a server of 500 clients and 100 elements with bare writes
// of the same datagrams.
//
// # Limits
//
// Limits of the layout are in limits_wire.go and are enforced while parsing. Ours are in Config and limits.go, each with the
// attack that it stops. docs/limits.md gives the worst memory of a connection. An address may have 64 mains that have not
// joined, and none of them has a seat in the game. Every queue has a limit. On main, a peer that breaks a rule is
// disconnected. On the feed, a datagram that breaks a rule is dropped and counted.
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
