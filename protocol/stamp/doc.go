// Package stamp speaks the stamp dialect: UDP, little endian, one packet a
// datagram, each with the sender's time in its 12-byte header. So far it is the
// codec alone, and what is built on it (handshake, acks, resends, the clock,
// server and client) is not written yet.
//
// # Usage
//
// Bytes mean different things from different senders, so both ways ask who it is:
//
//	p := stamp.Packet{Kind: stamp.KindEntity, Reliable: true, Sequence: 2, Time: 1_000_000, Data: data}
//	b = p.AppendTo(stamp.FromServer, b[:0])
//
//	var got stamp.Packet
//	if !got.Parse(stamp.FromServer, b) {
//		return got.ParseErr(stamp.FromServer, b) // what is wrong, and where
//	}
//
// To the document the data of an entity packet is empty and to Packet it is opaque
// bytes; a game server fills it with records:
//
//	data, ok := rec.AppendTo(data, stamp.MaxData) // not ok: it is full, data is as before
//
//	for records := stamp.ReadRecords(got.Data); records.Next(&rec); {
//		fmt.Println(rec.Entity, rec.Kind, rec.Fields)
//	}
//
// # Life of a packet
//
//	message.go      Side, Kind, Packet, Record: what the bytes say, under their layouts
//	codec.go        Packet.Parse and ParseErr from a datagram, AppendTo into one
//	record.go       Records walks the data of an entity packet, Record.AppendTo fills it
//	limits_wire.go  how large each part may be
//
// # Cost
//
// Neither way allocates; what Parse finds shares the memory of its input. Of a packet
// of 64 bytes (two shared cores, best of 8 runs): 13 ns to read, 9 ns to
// write. ParseErr allocates when it has an error to tell.
//
// # Limits
//
// Those of the layout are in limits_wire.go and are enforced while reading. What is
// allowed by the layout and bad for other reasons (a sequence far ahead, a time that
// cannot be) is for whoever knows the connection.
//
// # What it does not do
//
// It does not copy: clone Reason and Data if they are to outlive the buffer that a
// socket reads into. It does not judge what a record's fields hold: their types are
// the game's, so a float among them may be NaN and a text may not be UTF-8.
//
// # Security
//
// No input makes it panic, loop or allocate. The dialect has neither encryption nor
// signatures: whoever can see the packets can forge them. A reason is text that a
// stranger may have written; ReasonText makes it UTF-8, but it may hold line ends and
// other control characters, which matters where it is logged or shown.
package stamp
