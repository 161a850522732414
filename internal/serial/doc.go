// Package serial does arithmetic on numbers that wrap around: the 16, 24 and 32 bit
// sequence numbers, message ids and clocks of the dialects.
//
// # Usage
//
//	const space = serial.Bits16
//	newest = space.Unwrap(newest, uint32(m.Sequence)) // compare these in 64 bits
//
// Where a number cannot be unwrapped because nothing is known about the peer yet, Less
// and Distance compare it with wrap-around.
//
// # Limits
//
// Less and Distance are right only while the two numbers are less than half the space
// apart. Less is no order for sorting: if a is before b and b before c, a need not be
// before c. So unwrap numbers as soon as they are read, and keep 64 bit numbers inside.
//
// Bits of an argument above the width are ignored, and results have none.
//
// # What it does not do
//
// Unwrap trusts its caller to bound how far ahead a number may be: a peer that may choose
// any number moves the newest one by up to half the space with one packet. Check the
// distance against the receive window first.
package serial
