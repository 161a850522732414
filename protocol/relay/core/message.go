package core

import "parley/internal/wire"

// A Kind is one of the two datagrams. The zero Kind is unset.
type Kind uint8

// The datagrams.
const (
	KindPackage      Kind = iota + 1 // carries data
	KindConfirmation                 // lists the reliable packages that have arrived
)

var kindNames = [...]string{"unset", KindPackage: "package", KindConfirmation: "confirm"}

// String returns the name that decode prints.
func (k Kind) String() string { return wire.NameOf(k, kindNames[:]) }

// Mode is the reliability of a package. The values are those of bits 6 and 5.
type Mode uint8

// The modes, in the document's words.
const (
	// Unreliable packages are neither confirmed nor resent: "these packages may be lost,
	// delivered multiple times, or delivered out of order with respect to other
	// packages".
	Unreliable Mode = iota
	// Unordered packages are delivered once, as soon as they arrive.
	Unordered
	// SemiOrdered packages are delivered once, "after all previously reliably sent
	// packages".
	SemiOrdered
)

var modeNames = [...]string{"unreliable", "unordered", "semi-ordered"}

// String returns the name of the mode.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "no mode"
}

// Reliable reports whether packages of this mode are confirmed and resent.
func (m Mode) Reliable() bool { return m == Unordered || m == SemiOrdered }

// Datagram is one datagram of either side. Numbers are big endian:
//
//	 0       1        4
//	+-------+--------+----------------------------+
//	| flags | id u24 | payload, 0 to 504 bytes    |   a package
//	+-------+--------+----------------------------+
//
//	flags  bit 7     clear
//	       bits 6–5  00 unreliable, 01 unordered, 10 semi-ordered, 11 refused
//	       bit 4     clear: to, or from, the other participants
//	                 set: to, or from, the server
//	       bits 3–0  sent as 0; whatever comes is ignored
//
//	 0       1          4
//	+-------+----------+-----------+-----------+--
//	| 0x80  | 00 00 00 | id u24    | id u24    | …  a confirmation, 1 to 168 ids
//	+-------+----------+-----------+-----------+--
//
// A datagram has one encoding, except for the bits that are ignored.
type Datagram struct {
	Kind Kind

	// Mode, ToServer, ID and Payload are for a package. ToServer is bit 4. In a client's
	// package it means that the package is for the server, and not for the others. In a
	// server's, it means that it is the server's own, and not another participant's.
	Mode     Mode
	ToServer bool
	ID       uint32
	Payload  []byte

	// IDs are for a confirmation, as bytes: see ReadIDs and AppendID.
	IDs []byte
}

// IDs is an iterator over the ids of a confirmation. It allocates nothing.
type IDs struct{ r wire.BigReader }

// ReadIDs returns an iterator over the ids of a confirmation that Parse has read.
func ReadIDs(ids []byte) IDs { return IDs{wire.Big(ids)} }

// Next returns the next id, false at the end.
func (w *IDs) Next() (uint32, bool) {
	if w.r.Len() < idBytes {
		return 0, false
	}
	return w.r.U24("id"), true
}

// AppendID appends an id to the ids of a confirmation.
func AppendID(ids []byte, id uint32) []byte { return wire.AppendBigU24(ids, id) }
