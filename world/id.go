package world

import "fmt"

// An ID identifies an entity for ever, in every replay. It is made of the creator and the
// tick of creation, so a late action creates the same ID that it would have created in
// time. Clients know entities by a number of 15 bits, which Sim.Wire returns. The zero ID
// is no entity.
//
//	tick 32 bits | player 16 bits | index among the entities created in that tick 16 bits
type ID uint64

func makeID(tick uint64, p PlayerID, n uint16) ID {
	return ID(tick<<32 | uint64(p)<<16 | uint64(n))
}

// String returns the parts of the ID: the tick, the player (0 is the world itself) and
// the index among the entities created in that tick.
func (id ID) String() string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprintf("t%d.p%d.%d", uint32(id>>32), uint16(id>>16), uint16(id))
}

// A PlayerID identifies a player from joining to leaving. Zero is no player: the owner of
// unowned entities. An ID is reused only after 65,535 others.
type PlayerID uint16
