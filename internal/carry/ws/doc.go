// Package ws is the carrier WebSocket at a server: it brings clients' messages to the sessions of package carry. For replica, stamp and relay a
// message is a datagram, both ways. For duplex and realm messages are pieces of the stream, cut anywhere.
//
//	server := ws.NewServer(building)
//	mux.HandleFunc(ws.Path, func(w http.ResponseWriter, r *http.Request) { server.Serve(w, r, source(r), r.TLS != nil) })
//
// The handshake is that of github.com/coder/websocket. What follows is read and written here. What a tick sends is one write, made by the core's
// own loop if the socket takes it at once. On Linux, sessions of datagrams without TLS share a goroutine that reads them all and goes on with
// writes that a socket has not taken: so a quiet session costs 2 KiB. Others have a goroutine each, and a second one while a write waits.
//
//	handler.go       the handshake, and which of the two a session gets
//	frame.go         the frames of clients, as they come; pure
//	conn.go          a connection of datagrams: what it hears, writes, and how it ends, whatever is below
//	alone.go         below: a goroutine for each connection
//	shared_linux.go  below: a goroutine for all, and epoll
//	pipe.go          a connection of a stream
//	limits.go        the limits, and what each stops
//
// The caller checks Host and Origin before. Text, a message over 64 KiB, and frames that break RFC 6455 end a session.
package ws
