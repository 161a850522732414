package gateway

import "parley/world"

// client is a dialect's own seat as the hub sees it. It is asked while its loop stands still.
type client interface {
	// refuse tells somebody why it is not let in, or why it is out of a room that has ended.
	refuse(why error)

	// welcome tells somebody that it is in the room of its side, before it is told anything of the room.
	welcome()

	// waits reports whether the player waits for terrain.
	waits() bool

	// wanted returns the chunk that it will be sent after i others, if it may be sent one now.
	wanted(i int) (world.ChunkPlace, bool)
}

// grant decides which players are sent chunks of terrain in this tick, and makes chunks that nobody was sent yet.
// Chunks made and bytes sent have a bound for all players together. Players who were not served come first in
// the next tick, and players who were served come last. It is called while all loops are paused.
func (r *Room) grant() {
	r.land.begin()
	r.gather()
	makes, bytes := chunksATickOfAll, terrainATickOfAll
	waiting, served := r.askers[:0], r.served[:0]
	for _, s := range r.askers {
		s.granted = 0
		if s.left || !s.own.waits() {
			s.asking = false
			continue
		}
		for s.granted < chunksATick {
			p, ok := s.own.wanted(s.granted)
			if !ok {
				break
			}
			size, made := r.land.size(p)
			if bytes <= 0 || !made && makes == 0 {
				r.hub.stats.DelayedChunks++
				break
			}
			if !made {
				makes--
				r.hub.play(func() { size = r.land.make(p) })
				r.hub.stats.MadeChunks++
			}
			bytes -= max(size, leastChunk)
			s.granted++
		}
		if s.granted > 0 {
			served = append(served, s)
		} else {
			waiting = append(waiting, s)
		}
	}
	r.askers, r.served = append(waiting, served...), served
}

// gather notes who waits for terrain since the last tick.
func (r *Room) gather() {
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			if !s.asking && s.own.waits() {
				s.asking = true
				r.askers = append(r.askers, s)
			}
		}
	}
}

// wants notes a chunk that a player asked for.
func (r *Room) wants(s *Seat, place world.ChunkPlace, tag uint32) {
	for _, a := range s.asked {
		if a == (chunkAsk{place, tag}) {
			return
		}
	}
	if len(s.asked) >= maxAsked {
		r.hub.stats.RefusedChunks++
		s.answer(tag, world.TooMany)
		return
	}
	s.asked = append(s.asked, chunkAsk{place, tag})
}

func (s *Seat) waits() bool { return len(s.asked) > 0 }

func (s *Seat) wanted(i int) (world.ChunkPlace, bool) {
	if i >= len(s.asked) || !s.terrain.has() {
		return world.ChunkPlace{}, false
	}
	return s.asked[i].place, true
}

// nextChunk returns a chunk that is to be sent now, if one was granted. It stays the next until sentChunk says that it was
// sent: what a connection has no room for is sent at a later tick.
func (s *Seat) nextChunk() (chunkAsk, bool) {
	if s.granted == 0 || !s.terrain.has() {
		return chunkAsk{}, false
	}
	return s.asked[0], true
}

// sentChunk takes the next chunk off the list, and its bytes from the budget.
func (s *Seat) sentChunk(bytes int) {
	s.granted--
	s.asked = append(s.asked[:0], s.asked[1:]...)
	s.terrain.spend(max(bytes, leastChunk))
}

// considered is the seat of a dialect whose clients ask what a pass is worth before they enter.
type considered interface{ consider() }
