package gateway

import "parley/world"

// Seat is a place at the table: a connection of a dialect, and the player who came by it.
// A dialect's own seat embeds one. All but waiting belongs to the hub.
type Seat struct {
	dialect Dialect
	own     any // the dialect's own seat, which embeds this one
	waiting int // requests in the inbox; under its lock

	spectator bool // it watches, and is no player

	player  *Player // nil until it has entered, and of spectators
	view    *world.View
	left    bool
	kicked  string // why, if it was
	chat    allowance
	terrain allowance
	asked   []world.ChunkPlace
	all     bool // everything in sight is to be told once more
}

// Player is someone in the game, by whichever dialect.
type Player struct {
	ID      world.PlayerID
	Name    string
	Dialect string
	seat    *Seat
}

// allowance is a budget that grows each tick: of lines, of bytes.
type allowance struct {
	left int
	full bool // it was filled once
}

// grow adds a tick's share, up to a second's.
func (a *allowance) grow(second, ticksASecond int) {
	if !a.full {
		a.full, a.left = true, second
		return
	}
	a.left = min(a.left+max(second/ticksASecond, 1), second)
}

// spend takes n if anything is left: what is overdrawn is paid back later.
func (a *allowance) spend(n int) bool {
	if a.left <= 0 {
		return false
	}
	a.left -= n
	return true
}

// wants notes a chunk that the player asked for.
func (s *Seat) wants(place world.ChunkPlace) {
	for _, p := range s.asked {
		if p == place {
			return
		}
	}
	if len(s.asked) < maxAsked {
		s.asked = append(s.asked, place)
	}
}

// nextChunk returns a chunk that is to be sent now, if the player's budget allows one. What
// it took is told by spend of terrain.
func (s *Seat) nextChunk() (world.ChunkPlace, bool) {
	if len(s.asked) == 0 || s.terrain.left <= 0 {
		return world.ChunkPlace{}, false
	}
	p := s.asked[0]
	s.asked = append(s.asked[:0], s.asked[1:]...)
	return p, true
}
