package bots

import (
	"context"
	"errors"

	"parley/play/message"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/replica"
	"parley/world"
)

// ErrNoTerrain means that this dialect does not send terrain.
var ErrNoTerrain = errors.New("bots: stamp and relay know no terrain")

// maxLand bounds the chunks that a player keeps, 64 KiB each: which it is sent is the server's to choose.
const maxLand = 64

// Explore asks for a chunk of the terrain. See shows it when it has come, if Config.Land is set.
func (p *Player) Explore(ctx context.Context, at world.ChunkPlace) error {
	e := p.now()
	chunk, err := e.voice.explore(ctx, at)
	if chunk != nil {
		e.readChunk(message.ParseChunk(chunk, message.Big))
	}
	return p.sent(err)
}

func (v replicaVoice) explore(_ context.Context, at world.ChunkPlace) ([]byte, error) {
	return nil, v.conn.Replica.Send(replica.Reliable, message.ReplicaTerrain, message.AppendPlace(nil, at, message.Little))
}

func (v duplexVoice) explore(ctx context.Context, at world.ChunkPlace) ([]byte, error) {
	return v.ask(ctx, message.DuplexTerrain, message.AppendPlace(nil, at, message.Big))
}

func (v realmVoice) explore(_ context.Context, at world.ChunkPlace) ([]byte, error) {
	return nil, v.Want(realmcore.ChunkID{BX: at.BX, BY: at.BY})
}

func (stampVoice) explore(context.Context, world.ChunkPlace) ([]byte, error) {
	return nil, ErrNoTerrain
}

func (relayVoice) explore(context.Context, world.ChunkPlace) ([]byte, error) {
	return nil, ErrNoTerrain
}

// readChunk notes a chunk, if it could be read.
func (e *ear) readChunk(c message.Chunk, ok bool) {
	if ok {
		e.keep(c.Place, c.FillIn)
	}
}

// keep notes a chunk, if terrain is wanted.
func (e *ear) keep(at world.ChunkPlace, fill func(*world.Cells)) {
	if !e.cfg.Land {
		return
	}
	cells := new(world.Cells)
	fill(cells)
	e.learn(func(v *Sight) {
		if v.Land == nil || v.Land[at] == nil && len(v.Land) >= maxLand {
			v.Land = map[world.ChunkPlace]*world.Cells{}
		}
		v.Land[at] = cells
	})
}

// Cell returns the value of the cell at a position, if its chunk is known.
func (v *Sight) Cell(x, y float64) (value uint8, known bool) {
	bx, by, cx, cy, ok := world.Locate(x, y)
	cells := v.Land[world.ChunkPlace{BX: bx, BY: by}]
	if !ok || cells == nil {
		return 0, false
	}
	return cells[int(cy)<<8|int(cx)], true
}
