package main

import (
	"encoding/binary"

	"parley/protocol/duplex/core"
)

// The wire, beside what duplex has itself:
//
//	an element, SID: the player    kind u8 1, x u16, y u16, name size u8, name
//	what a client says of its own  x u16, y u16
//	query 64, once, first          name size u8, name
//	its reply                      status 0, or 1: that name is taken, or is none
const (
	kindCursor = 1
	queryName  = 64

	maxName = 20 // bytes: a name is a name
)

var schema = &core.Schema{
	FromServer: core.Elements{
		Others: core.Kinds(map[uint8]core.Size{kindCursor: core.Sequence(core.Fixed(4), core.Counted(1))}),
		Kinds:  true,
	},
	FromClient: core.Elements{Others: core.Fixed(4)},
	Queries:    map[uint8]core.Query{queryName: {Data: core.Counted(1)}},
}

// cursor is where somebody points.
type cursor struct {
	x, y uint16
	name string
}

// element is the cursor as the server sends it.
func (c cursor) element() []byte {
	return append(append(c.place([]byte{kindCursor}), byte(len(c.name))), c.name...)
}

// place appends where it is, as a client sends it.
func (c cursor) place(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, c.x)
	return binary.BigEndian.AppendUint16(b, c.y)
}

// readCursor reads an element. The schema has seen to its size.
func readCursor(data []byte) cursor {
	return cursor{binary.BigEndian.Uint16(data[1:]), binary.BigEndian.Uint16(data[3:]), clean(data[6:])}
}
