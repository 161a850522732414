// Package wire parses what peers send. It is the only code that indexes a peer's bytes.
// Every codec of every dialect consists of reads on its cursor; the one packet that is too
// frequent for that is read at fixed offsets (at.go).
//
// # Usage
//
// A codec names each field as it reads it, in the order of the layout, and checks once at
// the end:
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
// The type of the cursor fixes the byte order, so that a codec cannot mix them up by one
// forgotten suffix. Writing needs no cursor: use append, the Append methods of
// encoding/binary, and for 24 bits and floats the functions here.
//
// # Life of a read
//
// Enough bytes: the cursor moves on and returns them (little.go, big.go, reader.go). Too
// few, over a limit, or not a valid value: the first failure is noted, the cursor goes to
// the end, and from then on reads return zero or nothing (stop and refuse in reader.go).
// Done or OK reports that something failed, Cause its kind, and Err builds the text:
// "items[2].name: 12 bytes wanted at offset 7, 3 left" (error.go).
//
// # Cost
//
// Reading and refusing allocate nothing; Err allocates. Names are free: reads are inlined,
// so a constant name is loaded only in the branch that fails. The path of lists is put
// together after a failure, from the inside out, as In is called on the way back.
// TestReadsAreInlined checks this.
//
// # Limits
//
// There are none here but maxPath: a codec passes each limit to its read, from its own
// limits.go. Bytes, Text, Rest and Count require one.
//
// # What it does not do
//
// It does not copy: the results of Bytes, Text and Rest share the memory of the input, and
// must be copied if they are to outlive the buffer. It does not know layouts, and it does
// not skip what it cannot read.
//
// # Security
//
// No input makes a read panic, loop or allocate. A size or count may be passed on as the
// peer wrote it: negative, huge and overflowing values are refused before anything is
// allocated. Floats are as sent unless read by FiniteF32 or FiniteF64; bytes are not text
// unless read by Text.
package wire
