package gateway

import "parley/world"

// grant says who is sent chunks of terrain in this tick. To make one takes some 0.5 ms, so there
// is a bound for all together: those who were not served come first in the next tick, and those
// who were come last.
func (h *Hub) grant() {
	left := chunksATickOfAll
	waiting, served := h.askers[:0], h.served[:0]
	for _, s := range h.askers {
		switch {
		case s.left || len(s.asked) == 0:
			s.asking = false
			continue
		case left == 0:
			h.stats.DelayedChunks++
		case s.terrain.has():
			s.granted = min(chunksATick, len(s.asked), left)
			left -= s.granted
			served = append(served, s)
			continue
		}
		waiting = append(waiting, s)
	}
	h.askers, h.served = append(waiting, served...), served
}

// wants notes a chunk that a player asked for.
func (h *Hub) wants(s *Seat, place world.ChunkPlace, tag uint32) {
	for _, a := range s.asked {
		if a == (chunkAsk{place, tag}) {
			return
		}
	}
	if len(s.asked) >= maxAsked {
		h.stats.RefusedChunks++
		s.answer(tag, world.TooMany)
		return
	}
	s.asked = append(s.asked, chunkAsk{place, tag})
	if !s.asking {
		s.asking = true
		h.askers = append(h.askers, s)
	}
}

// nextChunk returns a chunk that is to be sent now, if one was granted. What it took is told by
// sentChunk.
func (s *Seat) nextChunk() (chunkAsk, bool) {
	if s.granted == 0 || len(s.asked) == 0 || !s.terrain.has() {
		s.granted = 0
		return chunkAsk{}, false
	}
	s.granted--
	p := s.asked[0]
	s.asked = append(s.asked[:0], s.asked[1:]...)
	return p, true
}

// sentChunk takes a chunk's bytes from the budget.
func (s *Seat) sentChunk(bytes int) { s.terrain.spend(max(bytes, leastChunk)) }

// appendTerrain appends a chunk as realm has it, in a dialect's own order. Dialects publish at the
// same time, and to look at terrain may be to make it.
func (h *Hub) appendTerrain(b []byte, p world.ChunkPlace, o world.Order) []byte {
	h.chunks.Lock()
	defer h.chunks.Unlock()
	return appendChunk(b, p, h.sim.Chunk(p.BX, p.BY), o)
}
