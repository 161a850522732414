// Package wire parses the bytes that peers send. No other code indexes a peer's bytes.
// Every codec of every dialect reads through its cursor, except for the one packet that is
// so frequent that it is read at fixed offsets (at.go).
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
// The type of the cursor fixes the byte order, so that a codec cannot mix up byte orders.
// Writing needs no cursor: use append, the Append methods of encoding/binary, and for 24
// bits and floats the functions here.
//
// # Life of a read
//
// If there are enough bytes, the cursor moves on and returns them (little.go, big.go,
// reader.go). If there are too few, or a limit is exceeded, or the value is not valid,
// the first failure is noted and the cursor goes to the end. From then on reads return
// zero or nothing (stop and refuse in reader.go). Done and OK report whether something
// failed, Cause returns the kind of failure, and Err builds the text: "items[2].name: 12
// bytes wanted at offset 7, 3 left" (error.go).
//
// Besides the cursor, side.go has the two sides of a connection and the names of closed sets.
//
// # Cost
//
// Reading and refusing allocate nothing; Err allocates. Names are free: reads are inlined,
// so a constant name is loaded only in the branch that fails. The path of a field in
// nested lists is built only after a failure, from the inside out, as In is called on the
// way back. TestReadsAreInlined checks this.
//
// # Limits
//
// The only limit here is maxPath. A codec passes each limit to its read, from its own
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
// No input makes a read panic, loop or allocate. A codec may pass a size or count on as
// the peer sent it: negative, huge and overflowing values are refused before anything is
// allocated. Floats may be NaN or infinite unless read by FiniteF32 or FiniteF64. Bytes
// may be invalid UTF-8 unless read by Text.
package wire
