// Package shell is what the servers and clients of all dialects do alike: it puts a
// pure core at a socket, with a loop that owns it, lets other goroutines in, brings
// events to who waits for them, and says goodbye in time.
//
// A dialect's Server holds a *Server and gives it functions: what to do after a turn,
// how to leave, how to end at once. A dialect's Client holds a *Client, which also is
// two bounded queues between the loop and the program. Neither knows a packet.
//
//	s.shell = shell.Serve(socket, mux, shell.ServerConfig{Name: "stamp", Events: s.events, …})
//	s.shell.Do(func() { … }) // on the loop
//	s.shell.Shutdown(ctx)    // goodbye, wait, close
//
// Files: server.go, client.go (the loop of one peer), inbox.go (the queue of events),
// outbox.go (that of messages), resolve.go (names to addresses), source.go (randomness that no one can foresee).
package shell
