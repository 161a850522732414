package world

import "slices"

// SetChunk makes the cells of a chunk what the server says, in place of what follows from the seed and of what Step has made of it here.
// Of the chunks that were told, those told longest ago are forgotten when there are too many.
func (g *Guess) SetChunk(at ChunkPlace, cells *Cells) {
	t := &g.world.terrain
	i, there := findChunk(t.told, at.BX, at.BY)
	if !there {
		t.told = slices.Insert(t.told, i, &chunk{bx: at.BX, by: at.BY})
	}
	c := t.told[i]
	g.lines -= len(c.lines)
	c.filled = false
	c.fill(cells)
	c.outline(&t.isSolid)
	g.lines += len(c.lines)
	t.clock++
	c.used = t.clock
	g.unedit(at)
	for len(t.told) > maxToldChunks || g.lines > maxToldLines && len(t.told) > 1 {
		g.forgetChunk()
	}
}

// HasChunk reports whether the server has told the cells of a chunk. Those of others follow from the seed.
func (g *Guess) HasChunk(at ChunkPlace) bool {
	_, there := findChunk(g.world.terrain.told, at.BX, at.BY)
	return there
}

// forgetChunk lets the chunk go that was told longest ago.
func (g *Guess) forgetChunk() {
	t := &g.world.terrain
	oldest := 0
	for i, c := range t.told {
		if c.used < t.told[oldest].used {
			oldest = i
		}
	}
	c := t.told[oldest]
	g.lines -= len(c.lines)
	t.told = slices.Delete(t.told, oldest, oldest+1)
	*t.recentAt(c.bx, c.by) = nil
}

// noteEdits notes since when Step has changed chunks.
func (g *Guess) noteEdits() {
	for _, c := range g.world.terrain.edited {
		at := ChunkPlace{c.bx, c.by}
		if _, ok := g.edits[at]; !ok {
			g.edits[at] = g.next
		}
	}
}

// expire takes back what Step has changed of the terrain a second before a tick: had the server done the same, it would have told of it.
func (g *Guess) expire(tick uint64) {
	for at, since := range g.edits {
		if since+uint64(g.world.rate) < tick {
			g.unedit(at)
		}
	}
}

// unedit makes a chunk what the server says, now and in the past.
func (g *Guess) unedit(at ChunkPlace) {
	delete(g.edits, at)
	t := &g.world.terrain
	t.edited = t.without(t.edited, at)
	for i := range g.history.ring {
		past := &g.history.ring[i].before.terrain
		past.edited = t.without(past.edited, at)
	}
	*t.recentAt(at.BX, at.BY) = nil
}

// without removes a chunk from a list of edited ones.
func (t *terrain) without(list []*chunk, at ChunkPlace) []*chunk {
	if i, ok := findChunk(list, at.BX, at.BY); ok {
		t.drop(list[i : i+1])
		list = slices.Delete(list, i, i+1)
	}
	return list
}
