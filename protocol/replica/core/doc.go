// Package core is the replica dialect without sockets, goroutines and clocks: its packets, their codec, and the state
// machines of a connection and of a server. Most programs use package replica, which runs it on a UDP socket.
//
// A Mux is a server, and an Endpoint made by NewClient is a client. Both are driven by the same five calls:
// HandleDatagram, HandleTimeout, PollEvent and PollTransmit until they return false, NextTimeout.
//
// The codec can be used alone as well: Packet.Parse and AppendTo, TableWriter for the parts of a link table, and
// ReplicateWriter for packets of values. Parse does not copy: clone Name, Data and Reason if they must outlive the buffer.
//
// The documentation of package replica has the way of a packet through the files, costs, limits and security.
package core
