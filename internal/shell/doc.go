// Package shell is the common part of all dialects' servers and clients. It runs a core on a loop of package
// datagram, which also owns the carrier of the core's datagrams. It lets other goroutines use the core, delivers
// events to the program, and says goodbye to peers before it closes.
//
// A dialect's Server holds a *Server and gives it its core, and a function that polls events after a turn.
// A dialect's Client holds a *Client, which also has two bounded queues between the loop and the program.
// Neither knows the dialect's packets.
//
//	s.shell = shell.Serve(carrier, mux, shell.ServerConfig{Name: "stamp", Events: s.events, …})
//	s.shell.Do(func() { … }) // while the loop is paused
//	s.shell.Shutdown(ctx)    // goodbye, wait, close
//
// Files: server.go, client.go (the loop of one peer), inbox.go (the queue of events), outbox.go (the queue of
// messages), resolve.go (names to addresses), source.go (random numbers and loggers).
package shell
