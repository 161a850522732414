// Package core is the duplex dialect without sockets, goroutines and clocks: the schema of a game, the messages and their
// codec, and the state machines of a server and a client. Programs that play over sockets use package duplex, and this
// package for their Schema.
//
//	m := core.NewMux(now, config, &core.Shared{Rand: rng}, key) // a server
//	c := m.Accept(now, addr)                                    // for each main
//	n := m.HandleBytes(now, c, bytes)                           // of main
//	m.HandleDatagram(now, from, datagram)                       // of the feed
//
//	e := core.NewClient(now, main, feed, config, shared) // a client, whose main is open
//
// Endpoint and Mux have the same methods. Call them in the order that Endpoint lists. ExampleMux shows all of them.
//
// # Life of an element
//
//	scene.go            Scene.Set, Scene.Flush: the elements and the players of one world
//	elements.go         the values, and the log of changes
//	sight.go            which changes are for a client, on main and on the feed
//	view.go             elements new to a client go on main, known ones on the feed; syncs of everything
//	again.go            what is said again on the feed
//	endpoint_send.go    Update, Sync, Signal: the queue of main, PollBytes
//	feed.go             SEQ, PollTransmit, FEED_INIT and the fall-back to main
//	  … the wires …
//	stream.go           cuts main into messages, by schema.go
//	endpoint_main.go    HandleBytes: which message is it, and is it valid in this state?
//	reorder.go          HandleDatagram at a client: what came too early waits for what it has overtaken
//	endpoint_feed.go    HandleDatagram: the same as on main, and is it newer than all before?
//	sync.go             what a client knows; elements that a sync did not name are gone
//	inbox.go, event.go  events for the application
//
// Besides these: message.go and codec.go (the bytes), query.go (queries and replies), mux.go and mux_admit.go
// (admission, tokens, feeds that move), pass.go (passes and their verdicts), conn.go (a server's calls for one client), outbox.go (the queue of
// main), endpoint_close.go (ends), limits.go and limits_wire.go (the limits, each with the attack that it stops),
// names.go (names of the types of counters).
package core
