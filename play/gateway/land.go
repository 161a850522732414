package gateway

import (
	"bytes"

	"parley/play/message"
	"parley/protocol/realm/core"
	"parley/world"
)

// land is the terrain as clients are told of it: chunks as realm writes them. The hub has them made
// before a tick is published, within its bounds; dialects, which publish at the same time, read.
type land struct {
	sim    *world.Sim
	chunks map[world.ChunkPlace][]byte
	held   int // bytes in chunks
}

// begin forgets what the last tick has changed, and all if that is too much to keep: never in the
// middle of a tick, for which chunks were made.
func (l *land) begin() {
	for _, p := range l.sim.ChangedChunks() {
		l.held -= len(l.chunks[p])
		delete(l.chunks, p)
	}
	if l.held > maxLand {
		clear(l.chunks)
		l.held = 0
	}
}

// size returns how many bytes a chunk has, if it was made.
func (l *land) size(p world.ChunkPlace) (bytes int, made bool) {
	b, made := l.chunks[p]
	return len(b), made
}

// make makes a chunk, and returns how many bytes it has.
func (l *land) make(p world.ChunkPlace) int {
	var buf [4 << 10]byte
	b := bytes.Clone(core.AppendChunk(buf[:0], p.BX, p.BY, (*core.Terrain)(l.sim.Chunk(p.BX, p.BY))))
	l.chunks[p] = b
	l.held += len(b)
	return len(b)
}

// appendTo appends a chunk that was made, in a dialect's own order.
func (l *land) appendTo(b []byte, p world.ChunkPlace, o world.Order) []byte {
	return message.AppendChunk(b, l.chunks[p], o)
}

// AppendChunk appends a chunk for realm. It returns false for a chunk that was not made, so a player
// gets only the chunks that the hub has granted.
func (l *land) AppendChunk(b []byte, id core.ChunkID) ([]byte, bool) {
	p := world.ChunkPlace{BX: id.BX, BY: id.BY}
	if _, made := l.chunks[p]; !made {
		return b, false
	}
	return l.appendTo(b, p, message.Big), true
}
