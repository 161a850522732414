// Package wire reads what peers send. It is the only code that indexes a
// peer's bytes; every codec of every dialect is written as reads on its cursor, and the one
// packet that is too frequent for it as reads at fixed places (at.go).
//
// # Usage
//
// A codec names each field as it reads it, in the order of the layout, and asks
// once at the end whether all was well:
//
//	r := wire.Little(b) // or wire.Big
//	m.ID, m.Tick = r.U16("id"), r.U16("tick")
//	m.Name = r.Text("name", int(r.U8("name size")), maxNameBytes)
//	for i := range r.Count("items", int(r.U8("item count")), maxItems, itemBytes) {
//		m.Items = append(m.Items, r.U32("item"))
//		if !r.In("items", i) {
//			break
//		}
//	}
//	return r.Done() // or, for a message in a stream: r.OK() and r.Offset()
//
// The type of the cursor fixes the byte order, so that a codec cannot mix them up
// by one forgotten suffix. Writing needs no cursor: append, the Append methods of
// encoding/binary, and for 24 bits and floats the functions here.
//
// # Life of a read
//
// Enough bytes: the cursor moves on and returns them (little.go, big.go, reader.go).
// Too few, over a limit, or not what the field may hold: the first failure is noted,
// the cursor goes to the end, and from then on reads return zero or nothing
// (stop and refuse in reader.go). Done or OK says that something failed, Cause what
// kind it was, and Err builds the words: "items[2].name: 12 bytes wanted at
// offset 7, 3 left" (error.go).
//
// # Cost
//
// Reading and refusing allocate nothing; Err allocates. Names are free: reads are
// inlined, so a constant name is loaded only in the branch that fails. Measured on
// a message of 64 bytes with eight fields, one of them a text (two shared cores,
// best of 60 runs): 25 ns with names and 27 ns without, which is noise; 29 ns with a
// call that stores the name before each read; 18 ns for the same checks by hand and
// without a word on what is wrong. Reads that are not inlined took 35 ns for less work.
// The path of lists is put together after a failure, from the inside out, as In is
// called on the way back. TestReadsAreInlined holds this.
//
// # Limits
//
// There are none in here but maxPath: a codec hands each limit to the read that it
// belongs to, from its own limits.go. Bytes, Text, Rest and Count do not work
// without one.
//
// # What it does not do
//
// It does not copy: what Bytes, Text and Rest return is part of the input, and must
// be copied if it is to outlive the buffer that a socket reads into. It does not
// know layouts, and it does not skip what it cannot read.
//
// # Security
//
// No input makes a read panic, loop or allocate. A size or count may be passed on
// as the peer wrote it: negative, huge and overflowing values are refused before
// anything is made of them. Floats are as sent unless read by FiniteF32 or
// FiniteF64; bytes are not text unless read by Text.
package wire
