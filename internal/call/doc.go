// Package call is the client's side of the carriers of browsers: WebSocket and WebTransport. They carry the same bytes as UDP and TCP, through
// networks that let nothing else pass, and out of browsers: the package builds for js/wasm, there without WebTransport.
//
// # Usage
//
//	session, err := call.Dial(ctx, call.Target{Carrier: call.WebSocket, Secure: true, Host: "game.example:8000", Dialect: "replica"})
//	if err != nil { … } // a *Refused if the server has answered, and does not open a session
//	client, err := replica.Dial(over.With(ctx, session.Open()), "game.example", replica.Config{})
//
// # Life of a datagram
//
//	messages.go   a goroutine reads messages from the session, and puts them into a queue
//	datagrams.go  Serve gives the loop those that wait; Write puts what the core sends into the other queue
//	messages.go   another goroutine sends it
//
// A dialect over a stream has stream.go instead: the pieces of the stream are messages, cut anywhere, or a stream of WebTransport.
//
// # Ends
//
// The end of a session ends its connection at once: the loop is given what came before, and then fails with a reason. Close sends what
// waits, the goodbye last, for at most closeTime.
//
// # Limits
//
// limits.go has all. Both queues are bounded, their oldest datagrams are dropped, and each is counted in datagram.Stats.
//
// # What it does not do
//
// It follows no redirects and keeps no cookies. Dial asks a server that is busy again for some seconds (again.go), but a session that has ended is
// not dialed again: package line does that.
package call
