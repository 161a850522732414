package world

import "fmt"

// An ID names an entity for ever, in every replay: it is made of who created
// it and when, so that an action that comes late creates the same ID as it
// would have in time. Clients know entities by a number of 15 bits that
// Sim.Wire gives. The zero ID is no entity.
//
//	tick 32 bits | player 16 bits | which of the births of that tick 16 bits
type ID uint64

func makeID(tick uint64, p PlayerID, n uint16) ID {
	return ID(tick<<32 | uint64(p)<<16 | uint64(n))
}

// String writes where an entity comes from: its tick, its player (0 is the
// world itself) and which of the births of that tick it is.
func (id ID) String() string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprintf("t%d.p%d.%d", uint32(id>>32), uint16(id>>16), uint16(id))
}

// A PlayerID numbers a player from its joining to its leaving. Zero is no
// player: what nobody owns. Numbers come around only after 65,535 others.
type PlayerID uint16
