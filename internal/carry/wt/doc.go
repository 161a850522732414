// Package wt is the carrier WebTransport at a server: it brings the datagrams and streams of clients over HTTP/3 to the sessions of package carry. For
// replica, stamp and relay a session's datagrams are the dialect's. For duplex main is the first bidirectional stream that the client opens,
// and the feed is the datagrams. For realm it is the first bidirectional stream.
//
//	own := wt.NewOwn(time.Now)
//	server, err := wt.Listen(":8000", wt.Config{Building: building, Certificate: own.Certificate})
//	defer server.Close()
//
// A client proves its address before anything is kept of it (QUIC's Retry). From then until it has a session it is one of those that are
// bounded by address and in all, and has 10 s.
//
//	own.go      certificates that are signed by nobody else, at most 14 days long, and renewed
//	server.go   accepting connections, and who may
//	session.go  a session's datagrams and stream
//	limits.go   the limits, and what each stops
package wt
