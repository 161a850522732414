// Package ws is the carrier WebSocket at a server: it brings clients' messages to the sessions of package carry. For replica, stamp and relay a
// message is a datagram, both ways. For duplex and realm messages are pieces of the stream, cut anywhere.
//
//	server := ws.NewServer(building)
//	mux.HandleFunc(ws.Path, func(w http.ResponseWriter, r *http.Request) { server.Serve(w, r, source(r), r.TLS != nil) })
//
// The handshake is that of github.com/coder/websocket. What follows is read and written here: a session costs one goroutine, which waits for
// the client with a buffer of 2 KiB, and what a tick sends is one write, made by the core's own loop if the socket takes it at once. A
// goroutine that waits is there only while the socket does not, or with TLS.
//
//	handler.go  the handshake
//	frame.go    the frames of clients, as they come; pure
//	conn.go     reading, writing and the end of a connection
//	limits.go   the limits, and what each stops
//
// The caller checks Host and Origin before. Text, a message over 64 KiB, and frames that break RFC 6455 end a session.
package ws
