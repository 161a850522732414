package gateway

import (
	"bytes"

	"parley/protocol/realm"
	"parley/world"
)

// realmTerrain gives chunks to realm's server, whenever a client's budget allows one: so not
// on the hub's goroutine, which owns the world. What the game's Terrain makes depends on
// nothing but its arguments and may be made anywhere; what was changed since is copied here
// while the hub publishes. It belongs to the server's loop.
type realmTerrain struct {
	seed   uint64
	make   func(seed uint64, bx, by int16, cells *world.Cells)
	edited map[realm.ChunkID]*world.Cells
	cache  map[realm.ChunkID][]byte
	held   int // bytes in cache
}

// maxTerrainCache bounds the encoded chunks that are kept, in bytes: when there are more, all
// are let go. To make one takes some 0.5 ms.
const maxTerrainCache = 32 << 20

func newRealmTerrain(h *Hub) *realmTerrain {
	t := &realmTerrain{
		seed: h.cfg.World.Seed, make: h.cfg.Game.Terrain,
		edited: map[realm.ChunkID]*world.Cells{}, cache: map[realm.ChunkID][]byte{},
	}
	for _, p := range h.sim.EditedChunks(nil) {
		t.edit(h, p)
	}
	return t
}

// edit takes over a chunk that has changed.
func (t *realmTerrain) edit(h *Hub, p world.ChunkPlace) realm.ChunkID {
	id := realm.ChunkID{BX: p.BX, BY: p.BY}
	h.chunks.Lock()
	cells := *h.sim.Chunk(p.BX, p.BY)
	h.chunks.Unlock()
	t.edited[id] = &cells
	t.held -= len(t.cache[id])
	delete(t.cache, id)
	return id
}

// AppendChunk appends a chunk as realm writes it.
func (t *realmTerrain) AppendChunk(b []byte, id realm.ChunkID) ([]byte, bool) {
	if known, ok := t.cache[id]; ok {
		return append(b, known...), true
	}
	cells := t.edited[id]
	if cells == nil {
		cells = new(world.Cells)
		if t.make != nil {
			t.make(t.seed, id.BX, id.BY, cells)
		}
	}
	start := len(b)
	b = realm.AppendChunk(b, id.BX, id.BY, (*realm.Terrain)(cells))
	if t.held > maxTerrainCache {
		clear(t.cache)
		t.held = 0
	}
	t.cache[id] = bytes.Clone(b[start:])
	t.held += len(b) - start
	return b, true
}
