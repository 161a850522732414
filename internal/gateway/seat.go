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
	asked   []chunkAsk
	number  uint16 // reserved for its own entity, 0 if none is
	results []result
}

// chunkAsk is a chunk that a player wants, and the dialect's own tag for the answer.
type chunkAsk struct {
	place world.ChunkPlace
	tag   uint32
}

// result is what became of a request with a tag, known before the next step.
type result struct {
	tag uint32
	why world.Reason
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
func (s *Seat) wants(place world.ChunkPlace, tag uint32) {
	for _, a := range s.asked {
		if a == (chunkAsk{place, tag}) {
			return
		}
	}
	if len(s.asked) < maxAsked {
		s.asked = append(s.asked, chunkAsk{place, tag})
	} else {
		s.answer(tag, world.TooMany)
	}
}

// answer notes what became of a request, if its dialect wants to know.
func (s *Seat) answer(tag uint32, why world.Reason) {
	if tag != 0 {
		s.results = append(s.results, result{tag, why})
	}
}

// nextChunk returns a chunk that is to be sent now, if the player's budget allows one. What
// it took is told by spend of terrain.
func (s *Seat) nextChunk() (chunkAsk, bool) {
	if len(s.asked) == 0 || s.terrain.left <= 0 {
		return chunkAsk{}, false
	}
	p := s.asked[0]
	s.asked = append(s.asked[:0], s.asked[1:]...)
	return p, true
}
