package arena

import "parley/world"

// The values of cells.
const (
	Floor = 0
	Wall  = 1
)

// The arena is 4 chunks wide and high around (0, 0); all beyond is wall. It is
// cut into squares, and in the middle of some stands a block. Between two blocks
// there is room for two players.
const (
	firstChunk, lastChunk = -2, 1

	squareSide = 64
	blockSide  = 20
)

// walls fills a chunk.
func walls(seed uint64, bx, by int16, cells *world.Cells) {
	inside := bx >= firstChunk && bx <= lastChunk && by >= firstChunk && by <= lastChunk
	for i := range cells {
		x, y := i%world.ChunkSide, i/world.ChunkSide
		if !inside || inBlock(seed, int(bx)*world.ChunkSide+x, int(by)*world.ChunkSide+y) {
			cells[i] = Wall
		}
	}
}

// inBlock reports whether a cell is in the block of its square. Of four squares
// about one has a block.
func inBlock(seed uint64, x, y int) bool {
	const low, high = (squareSide - blockSide) / 2, (squareSide + blockSide) / 2
	inX, inY := x&(squareSide-1), y&(squareSide-1)
	if inX < low || inX >= high || inY < low || inY >= high {
		return false
	}
	square := uint64(uint32(x>>6))<<32 | uint64(uint32(y>>6))
	chance := (square ^ seed) * 0x9e3779b97f4a7c15
	chance ^= chance >> 29
	return chance*0xbf58476d1ce4e5b9>>62 == 0
}
