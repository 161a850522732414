// Package duplex speaks the duplex dialect: a connection has two channels, big endian both.
// Main is TCP (or TLS) and keeps the state honest; the feed is UDP and is fast. A server
// has elements, and each client knows those that it may see; docs/protocols/duplex.md has
// the bytes and what each message does in each state.
//
// # Usage
//
// Both sides share a Schema, as nothing in a message says how long it is:
//
//	schema := &duplex.Schema{
//		FromServer: duplex.Elements{Others: duplex.Kinds(map[uint8]duplex.Size{1: duplex.Fixed(8)}), Kinds: true},
//		FromClient: duplex.Elements{Others: duplex.Fixed(8)},
//	}
//	s, err := duplex.Listen(":7000", duplex.Config{Schema: schema}, func(c *duplex.Conn, ev duplex.Event) { … })
//	s.Do(func(m *duplex.Mux) { m.Set(sid, data); m.Flush() }) // once a tick
//	c.HideAll(); c.Show(sid)                                  // who is not to see everything
//
//	c, err := duplex.Dial(ctx, "host:7000", duplex.Config{Schema: schema})
//	c.Update(c.Player(), data)
//	for ev := range c.Events() { … }
//
// Or without a socket, goroutine or clock: NewMux and NewClient are pure, and are driven by
// the calls that Endpoint names.
//
// # Life of an element
//
//	elements.go         Mux.Set notes it, Mux.Flush puts it into the log of changes
//	sight.go            what of that is a client's, on main and on the feed
//	view.go             what is new to a client goes on main, what it knows on the feed; syncs of everything
//	endpoint_send.go    Update, Sync, Signal: the queue of main, PollBytes
//	feed.go             SEQ, PollTransmit, FEED_INIT and the fall back to main
//	  … the wires …
//	stream.go           cuts main into messages, by schema.go
//	endpoint_main.go    HandleBytes: what is it, and may it come now?
//	endpoint_feed.go    HandleDatagram: the same, and is it newer than all before?
//	sync.go             what a client knows; what was not named is gone
//	inbox.go, event.go  what the application is told
//
// And beside that: message.go and codec.go (the bytes), query.go (queries and replies), mux.go and
// mux_admit.go (who is let in, passes, tokens, feeds that move), conn.go (what a server does to one
// client), outbox.go (the queue of main), endpoint_close.go (ends), limits.go and
// limits_wire.go. The shell is server.go (listening), server_turn.go (what the loop does with
// mains), server_main.go (one main at its socket), server_poll_linux.go (who reads all mains of a server; elsewhere, and
// with TLS, each has a goroutine), client.go and client_core.go.
//
// # Cost
//
// Nothing on the way of an update allocates. With 500 clients who are told of 100 elements 20
// times a second, the server's process takes 1.2 to 1.3 times the CPU time of bare writes of the
// same datagrams (BenchmarkCrowd). A silent main takes about
// 2 KiB and no goroutine (TestFiveThousandMainsAreHeldInLittle).
//
// # Limits
//
// Those of the layout are in limits_wire.go and are enforced while reading; ours are in Config
// and limits.go, each with the attack that it stops. docs/limits.md says what a connection holds at worst. An address has 64
// mains that have not joined, and none of them has a place in the game. Every queue has one. On main the least
// kind answer to who does not keep them is the end of that connection; on the feed what
// breaks a rule is dropped and counted.
//
// # What it does not do
//
// The feed has no acks and no rate control: a game decides how much it changes a tick. The two
// channels have no common order: a sync that main delayed may undo a newer update, and
// an update that was long under way one of a newer sync, until the next change or the next
// sync of everything; an element of which main said that it is gone stays so. A client
// that connects again needs a new socket for its feed, which Dial opens: nothing in a
// datagram says which connection it is of. It does not judge what data holds: its types are the
// game's, so a float in it may be NaN and a text may not be UTF-8.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. Main is as safe as TCP, or TLS. The
// feed has neither encryption nor signatures, and beyond the token of 32 bits in FEED_INIT
// nothing in a datagram proves its sender. Whoever cannot see the packets but forges the
// address and port of a peer can put updates into that player's name, or with a high SEQ
// make the feed deaf: 10 s later it is taken for lost, and the game goes on over main
// (TestForgedFeedIsBounded). Only with main's own address, unless Config.AnyFeedAddr, and a
// token can a feed be moved. Whoever sees main without TLS sees the token.
package duplex
