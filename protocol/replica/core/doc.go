// Package core is the replica dialect without sockets, goroutines and clocks: its packets, their codec, and the state
// machines of a connection and of a server. Most programs use package replica, which runs it on a UDP socket.
//
// A Mux is a server, and an Endpoint made by NewClient is a client. Both are driven by the same five calls:
// HandleDatagram and HandleTimeout, then PollEvent and PollTransmit until each returns false, then NextTimeout.
//
// The codec can be used alone as well: Packet.Parse and AppendTo, TableWriter for the parts of a link table, and
// ReplicateWriter for packets of values. Parse does not copy: clone Name, Data and Reason if they must outlive the buffer.
//
// The documentation of package replica follows a packet through the files, and has costs, limits and security.
package core
