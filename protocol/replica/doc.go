// Package replica speaks the replica dialect: UDP, little endian, one packet a
// datagram; connections, clock synchronisation, acknowledgements, named messages,
// and replication of the variables of entities. So far the codec is whole, and the
// endpoint on top of it is being written.
//
// # Usage
//
// Some packets are right from one side only, so reading asks who sent the bytes:
//
//	var p replica.Packet
//	if !p.Parse(replica.FromClient, datagram) {
//		return p.ParseErr(replica.FromClient, datagram) // what is wrong, and where
//	}
//	switch p.Kind {
//	case replica.KindMessage:
//		fmt.Println(p.Sequence, string(p.Name), p.Data)
//	}
//
//	b = p.AppendTo(b[:0])
//
// What a link.table or a replicate lists is walked where it lies, and is written
// piece by piece until the packet is full:
//
//	for v := range p.Values.EntityValues() {
//		fmt.Println(v.Entity, v.Variable, v.ID, v.Data)
//	}
//
//	var w replica.ReplicateWriter
//	w.Start(b[:0], &replica.Packet{Kind: replica.KindReplicate, Reliable: true, Sequence: n, Time: t}, 1200)
//	for w.Add(kind, variable, entity, data) { … }
//
// # Life of a packet, as far as it goes
//
//	message.go            Type, Kind, Side, Packet; the rules of senders and flags, a line for each packet
//	codec.go              Parse and ParseErr: type, then the packet's own reader; AppendTo
//	message_connect.go    connect.init, connect.accept, connect.reject, disconnect
//	message_sync.go       sync.init, sync.ack, ack
//	message_link.go       link.init, link.table, link.accept, link.reject; the walk over a Table
//	message_replicate.go  replicate; the walk over a Replication
//	message_named.go      message
//	datatype.go           the types of linked variables
//	write_table.go        TableWriter
//	write_replicate.go    ReplicateWriter
//	limits_wire.go        the limits and sizes of the layouts
//
// The layouts stand above their readers, and as tables in docs/protocols/replica.md,
// which a test holds against the code.
//
// # Cost
//
// Reading, refusing, walking and writing allocate nothing; ParseErr does when it has
// an error to tell. A message of 64 bytes takes 31 ns to read and 11 ns to write, a
// full replicate of 1,200 bytes with 190 values 1.2 µs to read and 1.7 µs to write
// (two cores shared with other work, best of 20 runs). The worst that a datagram of
// 65,507 bytes can ask for is a table of 21,000 empty names, 190 µs, or a replicate of
// 32,000 empty values, 130 µs; a server never walks either, since the sender is judged
// first.
//
// # Limits
//
// Those of the layouts are in limits_wire.go and hold while reading. A count is held
// against the bytes that are left before anything is done with it.
//
// # What it does not do
//
// The codec knows no connection. Sequences, times, unknown links, and data whose
// size is not that of its linked type pass it; so does a float that is NaN: ask
// DataType.Fits and Finite. It does not copy: what outlives the datagram's buffer is
// the caller's to clone.
//
// # Security
//
// No input makes reading panic, loop or allocate. The dialect has neither encryption
// nor signatures: whoever sees the packets can forge them. A reason is text from a
// stranger: ReasonText makes it UTF-8, but it may hold line ends and other control
// characters, which matters where it is logged or shown.
package replica
