// Package core is the stamp dialect without sockets, goroutines and clocks: its packets, their codec, and the state
// machines of a connection and of a server. Most programs use package stamp, which runs it on a UDP socket.
//
// A Mux is a server, and an Endpoint made by NewClient is a client. Both are driven by the same five calls:
// HandleDatagram and HandleTimeout, then PollEvent and PollTransmit until each returns false, then NextTimeout. See the
// example of Mux.
//
// The codec can be used alone as well: Packet.Parse and AppendTo, which take the sender's side, and Records for the data
// of an entity packet. Parse does not copy: clone Reason and Data if they must outlive the buffer. It does not check the
// fields of a record: their types are the game's, so a float may be NaN and a text may not be UTF-8.
//
// The documentation of package stamp follows a packet through the files, and has costs, limits and security.
package core
