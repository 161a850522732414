package player

import (
	"context"
	"encoding/binary"
	"errors"

	"parley/protocol/realm"
	"parley/protocol/replica"
	"parley/world"
)

// ErrNoTerrain means that this dialect does not send terrain.
var ErrNoTerrain = errors.New("player: stamp and relay know no terrain")

// maxLand bounds the chunks that a player keeps, 64 KiB each: which it is sent is the server's to choose.
const maxLand = 64

// Explore asks for a chunk of the terrain. See shows it when it has come, if Config.Land is set.
func (p *Player) Explore(ctx context.Context, at world.ChunkPlace) error {
	chunk, err := p.voice.explore(ctx, at)
	if chunk != nil {
		p.readChunk(chunk, binary.BigEndian)
	}
	return err
}

func (v replicaVoice) explore(_ context.Context, at world.ChunkPlace) ([]byte, error) {
	return nil, v.Send(replica.Reliable, "terrain", appendPlace(nil, at, binary.LittleEndian))
}

func (v duplexVoice) explore(ctx context.Context, at world.ChunkPlace) ([]byte, error) {
	return v.ask(ctx, queryTerrain, appendPlace(nil, at, binary.BigEndian))
}

func (v realmVoice) explore(_ context.Context, at world.ChunkPlace) ([]byte, error) {
	return nil, v.Want(realm.ChunkID{BX: at.BX, BY: at.BY})
}

func (stampVoice) explore(context.Context, world.ChunkPlace) ([]byte, error) {
	return nil, ErrNoTerrain
}

func (relayVoice) explore(context.Context, world.ChunkPlace) ([]byte, error) {
	return nil, ErrNoTerrain
}

func appendPlace(b []byte, at world.ChunkPlace, o binary.AppendByteOrder) []byte {
	return o.AppendUint16(o.AppendUint16(b, uint16(at.BX)), uint16(at.BY))
}

// readChunk reads "bx i16, by i16, default u8, count u16, and count times x u8, y u8, value u8".
func (p *Player) readChunk(b []byte, o binary.ByteOrder) {
	const head = 7
	if len(b) < head || len(b) != head+3*int(o.Uint16(b[5:])) {
		return
	}
	p.keep(world.ChunkPlace{BX: int16(o.Uint16(b)), BY: int16(o.Uint16(b[2:]))}, func(cells *world.Cells) {
		for i := range cells {
			cells[i] = b[4]
		}
		for b = b[head:]; len(b) > 0; b = b[3:] {
			cells[int(b[1])<<8|int(b[0])] = b[2]
		}
	})
}

// keep notes a chunk, if terrain is wanted.
func (p *Player) keep(at world.ChunkPlace, fill func(*world.Cells)) {
	if !p.cfg.Land {
		return
	}
	cells := new(world.Cells)
	fill(cells)
	p.learn(func(v *Sight) {
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
