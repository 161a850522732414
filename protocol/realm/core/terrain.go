package core

import (
	"encoding/binary"
	"math"
	"time"

	"parley/internal/queue"
)

// terrain is what a client wants to see of the world, and what it may still be sent: "1 KiB
// of request can ask for 50 MB". The zero value wants nothing; begin sets its budget.
type terrain struct {
	wanted queue.Fifo[ChunkID]
	known  map[ChunkID]struct{} // those in wanted
	budget int                  // bytes that may be sent now; what is sent may leave it below 0
	filled time.Time            // when budget was true
	centre ChunkID              // what was wanted last is around it
}

// begin gives a client a full budget: that of one second.
func (t *terrain) begin(now time.Time, rate int) { t.budget, t.filled = rate, now }

// want notes a chunk, once, and reports whether there was room.
func (t *terrain) want(id ChunkID) bool {
	if _, ok := t.known[id]; ok {
		return true
	}
	if t.wanted.Len() >= maxWantedChunks {
		return false
	}
	if t.known == nil {
		t.known = map[ChunkID]struct{}{}
	}
	t.known[id] = struct{}{}
	t.wanted.Push(id)
	return true
}

// pop takes the chunk that was wanted first.
func (t *terrain) pop() ChunkID {
	id := t.wanted.Pop()
	t.wanted.Trim()
	if delete(t.known, id); len(t.known) == 0 {
		t.known = nil
	}
	return id
}

// refill adds what the time since has brought.
func (t *terrain) refill(now time.Time, rate int) {
	gained := int(int64(min(now.Sub(t.filled), time.Second)) * int64(rate) / int64(time.Second))
	if gained > 0 {
		t.budget = min(t.budget+gained, rate)
		t.filled = now
	}
}

// next returns when there is a budget again.
func (t *terrain) next(rate int) time.Time {
	if t.budget > 0 {
		return t.filled
	}
	return t.filled.Add(time.Duration(int64(1-t.budget)*int64(time.Second)/int64(rate)) + time.Millisecond)
}

// nearest brings the chunk that is the nearest to a place to the i-th place of those that are wanted.
func (t *terrain) nearest(i int, to Position) {
	best, least := i, math.MaxInt
	for k := i; k < min(t.wanted.Len(), i+maxNear); k++ {
		if far := t.wanted.At(k).far(to); far < least {
			best, least = k, far
		}
	}
	if best != i {
		a, b := t.wanted.At(i), t.wanted.At(best)
		*a, *b = *b, *a
	}
}

// far is how many cells a chunk is away from a place, the longer way of the two directions.
func (id ChunkID) far(from Position) int {
	one := func(chunk, at int16, cell uint8) int {
		low, p := int(chunk)*ChunkSide, int(at)*ChunkSide+int(cell)
		return max(low-p, p-low-ChunkSide+1, 0)
	}
	return max(one(id.BX, from.BX, from.X), one(id.BY, from.BY, from.Y))
}

// wantAround notes the chunks around one, nearest first.
func (t *terrain) wantAround(at Position, radius int) {
	t.centre = ChunkID{at.BX, at.BY}
	t.around(radius, func(ChunkID) bool { return true })
}

// around wants the chunks around the centre for which new is true, nearest first.
func (t *terrain) around(radius int, isNew func(ChunkID) bool) {
	for r := 1; r <= radius; r++ {
		for dy := -r; dy <= r; dy++ {
			for dx := -r; dx <= r; dx++ {
				x, y := int(t.centre.BX)+dx, int(t.centre.BY)+dy
				if max(dx, -dx, dy, -dy) != r || x != int(int16(x)) || y != int(int16(y)) {
					continue
				}
				if id := (ChunkID{int16(x), int16(y)}); isNew(id) {
					t.want(id)
				}
			}
		}
	}
}

// follow moves the centre, and wants what comes within the radius. What is not sent yet and is out of it again
// is not wanted any more, so that a player who runs on is not sent where it was.
func (t *terrain) follow(to ChunkID, radius int) {
	was := t.centre
	within := func(id, centre ChunkID) bool {
		dx, dy := int(id.BX)-int(centre.BX), int(id.BY)-int(centre.BY)
		return max(dx, -dx, dy, -dy) <= radius
	}
	for range t.wanted.Len() {
		if id := t.pop(); within(id, to) || !within(id, was) { // what it asked for itself stays
			t.want(id)
		}
	}
	t.centre = to
	if !within(to, was) {
		t.want(to)
	}
	t.around(radius, func(id ChunkID) bool { return !within(id, was) })
}

// sendsTerrain reports whether chunks are sent without being asked for it.
func (e *Endpoint) sendsTerrain() bool { return !e.cfg.TerrainByTurn && e.source() != nil }

// source returns the terrain of the client's world, nil if it has none.
func (e *Endpoint) source() TerrainSource {
	if e.server.conn == nil {
		return nil
	}
	return e.server.conn.world().terrain
}

// sendTerrain encodes wanted chunks while there is a budget and the queue has room.
func (e *Endpoint) sendTerrain(now time.Time) {
	if !e.sendsTerrain() {
		return
	}
	for e.mayGetChunk(now) && e.sendChunks(now, MaxListed, false) {
	}
}

// mayGetChunk reports whether the client waits for a chunk that it can be sent now: "encoded
// when there is room and never queued".
func (e *Endpoint) mayGetChunk(now time.Time) bool {
	t := &e.terrain
	if e.state != StatePlaying || e.source() == nil || t.wanted.Len() == 0 || e.out.held >= roomBytes {
		return false
	}
	t.refill(now, e.cfg.TerrainRate)
	return t.budget > 0
}

// sendChunks sends one message with what was wanted first, or several if they are small, but no more
// than most are looked at. plural asks for a chunks_update also of one.
func (e *Endpoint) sendChunks(now time.Time, most int, plural bool) bool {
	t := &e.terrain
	f := e.shared.empty(KindChunksUpdate, 4096)
	defer e.shared.release(f)
	f.b = append(f.b, byte(KindChunksUpdate-1))
	f.b = binary.BigEndian.AppendUint16(f.b, uint16(e.tick(now)))
	f.b = append(f.b, 0, 0) // the count
	head, count := len(f.b), 0
	for ; most > 0 && t.wanted.Len() > 0 && len(f.b) < batchBytes && t.budget > 0; most-- {
		size := len(f.b)
		b, ok := e.source().AppendChunk(f.b, t.pop())
		if !ok {
			f.b = b[:size]
			t.budget -= leastChunkCost
			continue
		}
		f.b = b
		count++
		t.budget -= max(len(b)-size, leastChunkCost)
		e.stats.Chunks++
	}
	switch {
	case count == 0:
		return true
	case count == 1 && !plural:
		f.kind = KindChunkUpdate
		f.b[0] = byte(KindChunkUpdate - 1)
		f.b = append(f.b[:head-2], f.b[head:]...)
	default:
		binary.BigEndian.PutUint16(f.b[head-2:], uint16(count))
	}
	return e.enqueue(now, f)
}
