// Package carry joins players in browsers to the cores of the dialects. A browser has no UDP and no TCP: WebSocket and WebTransport carry the
// same bytes. This package has the common part of both: sessions, their addresses, queues, limits and ends. It has no network: package
// carry/ws and the WebTransport server bring the bytes.
//
// A Building has a Hall for each dialect. A dialect's server joins the hall to its own carriers, so that its core does not notice:
//
//	carrier := carry.Join(udpSocket, carry.HallOf(config.Sessions))             // datagrams
//	mains := carry.JoinStreams(stream.Serve(…), carry.HallOf(config.Sessions))  // streams
//
// # Usage by a carrier
//
// Datagrams (replica, stamp, relay):
//
//	hall := building.Find("replica") // nil: this server has none
//	wake := make(chan struct{}, 1)
//	s, err := hall.Open(carry.Opening{Source: browser, Kind: way.WebTransport, Ready: func() { … wake <- … }, End: func(why carry.Why) { conn.Close() }})
//	if err != nil { … } // refuse the handshake: 429, 503 or 403
//	go func() {
//		for { b := receive(); if !s.Deliver(b) { return } }
//	}()
//	for range wake {
//		leaving := s.Leaving()
//		for n, ok := s.Next(buf); ok; n, ok = s.Next(buf) { send(buf[:n]) }
//		if leaving { goodbye(); return }
//	}
//	s.Close() // when the connection is over, for whatever reason
//
// Streams (duplex, realm) are a Pipe, which has Read, Write, CloseWrite and Close:
//
//	s, err := hall.OpenStream(carry.Opening{Source: browser, Kind: way.WebTransport}, pipe)
//	feed, err := s.Feed(ready) // duplex over WebTransport: a Session for the datagrams beside it, with Deliver, Next and Close
//	<-s.Done()
//
// # Life of a datagram
//
//	session.go  Deliver puts it into its session's queue, and wakes the loop
//	carrier.go  the loop's turn gets some of each session, behind what the socket brought
//	carrier.go  Write gives each datagram to its session's queue, or to the socket
//	session.go  Next and Batch move it to the carrier, on the carrier's own goroutine
//
// # Addresses
//
// A core knows a session by an address of fd70:6172:6c65:7900::/64, which no other session of the process has or had. Sockets drop what seems to
// come from there. Whatever counts, limits, bans or logs by address uses Hall.Source. The address says what carries the session, and so how
// large its packets may be: see way.KindOf. A stream has its true address from the beginning.
//
// # Ends
//
// When a carrier's connection is over, the core is told at once (datagram.Mourner), so its player is away and not only after a time-out. When a
// core's connection is over, Hangup has the session send what waits, the goodbye last, and close.
//
// # Limits
//
// limits.go has all, with the attack that each stops. Each drop and each end is counted in Stats.
package carry
