package world

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// ChunkSide is the side of a chunk in cells.
const ChunkSide = 256

// Cells are the values of a chunk's cells, row by row from the bottom. The value of (x,
// y) is at y*ChunkSide+x.
type Cells [ChunkSide * ChunkSide]uint8

// A Cell has the properties of all cells with one value.
type Cell struct {
	Solid bool // a body with a hitbox stops here
}

// A chunk is 256 x 256 cells. Its rows are mostly like each other, and each line that differs is kept once: a chunk has a few KiB,
// and at most 74. One that was edited is shared by all the ticks of history that know it so, and copied before it is written.
type chunk struct {
	bx, by int16
	refs   int // how many terrains hold it; of one that is not edited 0
	used   uint64
	filled bool             // some cell is solid
	of     [ChunkSide]uint8 // which of the lines each row is
	lines  []line
}

// A line is what some rows of a chunk are.
type line struct {
	solid [ChunkSide / 64]uint64
	rows  int // how many they are
	cells [ChunkSide]uint8
}

// fill makes a chunk of its cells. What is solid of it is not known then.
func (c *chunk) fill(cells *Cells) {
	c.lines = c.lines[:0]
	var sums [ChunkSide]uint64
	for y := range c.of {
		row := cells[y*ChunkSide:][:ChunkSide]
		if y > 0 && bytes.Equal(c.line(y - 1).cells[:], row) {
			c.of[y] = c.of[y-1]
			c.line(y).rows++
			continue
		}
		sum := uint64(0)
		for x := 0; x < ChunkSide; x += 8 {
			sum = hash(sum, binary.LittleEndian.Uint64(row[x:]))
		}
		i := 0
		for i < len(c.lines) && (sums[i] != sum || !bytes.Equal(c.lines[i].cells[:], row)) {
			i++
		}
		if i == len(c.lines) {
			c.lines = append(c.lines, line{cells: [ChunkSide]uint8(row)})
			sums[i] = sum
		}
		c.of[y] = uint8(i)
		c.lines[i].rows++
	}
}

// line returns the line of a row.
func (c *chunk) line(y int) *line { return &c.lines[c.of[y]] }

// own returns the line of a row to be written, which no other row has.
func (c *chunk) own(y int) *line {
	if l := c.line(y); l.rows > 1 {
		l.rows--
		c.lines = append(c.lines, *l)
		c.of[y] = uint8(len(c.lines) - 1)
		c.line(y).rows = 1
	}
	return c.line(y)
}

// copyTo writes all cells.
func (c *chunk) copyTo(cells *Cells) {
	for y := range c.of {
		copy(cells[y*ChunkSide:], c.line(y).cells[:])
	}
}

// terrain holds the edited chunks, which are state, and a cache of pristine
// ones, which follow from the seed.
type terrain struct {
	edited []*chunk // in order of by, then bx
	sum    uint64   // over all changed cells: position and value
	told   []*chunk // in place of pristine ones, in the same order: what a server has told a Guess

	seed     uint64
	generate func(seed uint64, bx, by int16, cells *Cells)
	isSolid  [256]bool
	pristine []*chunk
	clock    uint64
	left     int                  // pristine chunks that a Guess may yet make in this tick
	bounded  bool                 // left counts
	recent   [recentChunks]*chunk // those that were asked for last, by their low bits
	spare    []*chunk
	cells    *Cells // of a chunk that is made or told
}

// recentChunks is a square of 8 by 8: what moves is mostly within one.
const recentChunks = 64

func (t *terrain) recentAt(bx, by int16) **chunk { return &t.recent[bx&7|by&7<<3] }

// pristineChunks bounds the cache: 18 MiB if every row of every chunk is another. A player who walks further makes chunks
// again, which costs time and no memory.
const pristineChunks = 256

func (t *terrain) init(g *Game, seed uint64) {
	t.seed, t.generate = seed, g.Terrain
	for v, c := range g.CellTypes {
		if v < len(t.isSolid) {
			t.isSolid[v] = c.Solid
		}
	}
}

// chunkAt finds a chunk, and makes it if need be.
func (t *terrain) chunkAt(bx, by int16) *chunk {
	recent := t.recentAt(bx, by)
	if c := *recent; c != nil && c.bx == bx && c.by == by {
		return c
	}
	*recent = t.find(bx, by)
	return *recent
}

func (t *terrain) find(bx, by int16) *chunk {
	if i, ok := findChunk(t.edited, bx, by); ok {
		return t.edited[i]
	}
	if i, ok := findChunk(t.told, bx, by); ok {
		return t.told[i]
	}
	return t.findPristine(bx, by)
}

func chunkKey(bx, by int16) uint32 { return uint32(uint16(by)^1<<15)<<16 | uint32(uint16(bx)^1<<15) }

// findChunk returns where in a list, in order of by and bx, a chunk is or would be.
func findChunk(list []*chunk, bx, by int16) (i int, there bool) {
	low, high := 0, len(list)
	for low < high {
		mid := (low + high) / 2
		if chunkKey(list[mid].bx, list[mid].by) < chunkKey(bx, by) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(list) && list[low].bx == bx && list[low].by == by
}

func (t *terrain) findPristine(bx, by int16) *chunk {
	t.clock++
	oldest := -1
	for i, c := range t.pristine {
		if c.bx == bx && c.by == by {
			c.used = t.clock
			return c
		}
		if oldest < 0 || c.used < t.pristine[oldest].used {
			oldest = i
		}
	}
	if t.bounded {
		if t.left--; t.left < 0 {
			panic(fmt.Sprintf("it needs more than %d chunks of terrain", maxGuessedChunks))
		}
	}
	if len(t.pristine) < pristineChunks {
		oldest = len(t.pristine)
		t.pristine = append(t.pristine, &chunk{})
	}
	c := t.pristine[oldest]
	*c = chunk{bx: bx, by: by, used: t.clock, lines: c.lines}
	cells := t.scratch()
	clear(cells[:])
	if t.generate == nil {
		c.fill(cells)
		return c
	}
	t.generate(t.seed, bx, by, cells)
	c.fill(cells)
	c.outline(&t.isSolid)
	return c
}

// scratch returns room for the cells of a chunk, until it is asked for again.
func (t *terrain) scratch() *Cells {
	if t.cells == nil {
		t.cells = new(Cells)
	}
	return t.cells
}

// outline finds the solid cells.
func (c *chunk) outline(isSolid *[256]bool) {
	for i := range c.lines {
		l := &c.lines[i]
		for x, v := range l.cells {
			if isSolid[v] {
				l.solid[x/64] |= 1 << (x % 64)
				c.filled = true
			}
		}
	}
}

// set changes a cell, in a copy if others hold the chunk too.
func (t *terrain) set(bx, by int16, x, y uint8, v uint8) bool {
	c := t.chunkAt(bx, by)
	old := c.line(int(y)).cells[x]
	if old == v {
		return true
	}
	if c.refs != 1 {
		if c.refs == 0 && len(t.edited) >= maxEditedChunks {
			return false
		}
		c = t.copyOf(c)
	}
	t.sum ^= cellSum(bx, by, int(y), int(x), old) ^ cellSum(bx, by, int(y), int(x), v)
	l := c.own(int(y))
	l.cells[x] = v
	word, bit := &l.solid[x/64], uint64(1)<<(x%64)
	if *word &^= bit; t.isSolid[v] {
		*word |= bit
		c.filled = true
	}
	return true
}

// cellSum is what a cell adds to the sum of the changed ones.
func cellSum(bx, by int16, y, x int, v uint8) uint64 {
	return mix(uint64(chunkKey(bx, by))<<24 | uint64(y*ChunkSide+x)<<8 | uint64(v))
}

// copyOf puts a copy of a chunk, which this terrain alone holds, in its place.
func (t *terrain) copyOf(c *chunk) *chunk {
	var own *chunk
	if n := len(t.spare); n > 0 {
		own, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		own = &chunk{}
	}
	lines := append(own.lines[:0], c.lines...)
	*own = *c
	own.refs, own.lines = 1, lines
	i, there := findChunk(t.edited, c.bx, c.by)
	if there {
		c.refs--
		t.edited[i] = own
	} else {
		t.edited = append(t.edited, nil)
		copy(t.edited[i+1:], t.edited[i:])
		t.edited[i] = own
	}
	*t.recentAt(c.bx, c.by) = own
	return own
}

// A terrainCopy is the edited chunks as they were.
type terrainCopy struct {
	edited []*chunk
	sum    uint64
}

func (t *terrain) save(c *terrainCopy) {
	t.drop(c.edited)
	c.edited = append(c.edited[:0], t.edited...)
	for _, k := range c.edited {
		k.refs++
	}
	c.sum = t.sum
}

func (t *terrain) load(c *terrainCopy) {
	for _, k := range c.edited {
		k.refs++
	}
	t.drop(t.edited)
	t.edited = append(t.edited[:0], c.edited...)
	t.sum = c.sum
	clear(t.recent[:])
}

// drop lets chunks go that one holder held.
func (t *terrain) drop(list []*chunk) {
	for _, k := range list {
		if k.refs--; k.refs == 0 {
			t.spare = append(t.spare, k)
			if recent := t.recentAt(k.bx, k.by); *recent == k {
				*recent = nil
			}
		}
	}
}

// solidSpan reports whether a cell of row y, from x0 to x1, is solid. What is
// beyond the numbers of the wire is solid.
func (t *terrain) solidSpan(x0, x1, y int) bool {
	by := y >> 8
	if by != int(int16(by)) || x0>>8 < math.MinInt16 || x1>>8 > math.MaxInt16 {
		return true
	}
	for x := x0; x <= x1; {
		bx := x >> 8
		end := min(x1, bx<<8+ChunkSide-1)
		c := t.chunkAt(int16(bx), int16(by))
		if c.filled && anyBit(&c.line(y&255).solid, x&255, end&255) {
			return true
		}
		x = end + 1
	}
	return false
}

// only returns the chunk that has all cells from (x0, y0) to (x1, y1), or nil if they are in several. Most outlines are in one.
func (t *terrain) only(x0, y0, x1, y1 int) *chunk {
	bx, by := x0>>8, y0>>8
	if bx != x1>>8 || by != y1>>8 || bx != int(int16(bx)) || by != int(int16(by)) {
		return nil
	}
	return t.chunkAt(int16(bx), int16(by))
}

// solidBox reports whether a cell from (x0, y0) to (x1, y1) is solid. What is beyond the numbers of the wire is solid.
func (t *terrain) solidBox(x0, y0, x1, y1 int) bool {
	if x0>>8 < math.MinInt16 || x1>>8 > math.MaxInt16 || y0>>8 < math.MinInt16 || y1>>8 > math.MaxInt16 {
		return true
	}
	for by := y0 >> 8; by <= y1>>8; by++ {
		for bx := x0 >> 8; bx <= x1>>8; bx++ {
			c := t.chunkAt(int16(bx), int16(by))
			if c.filled && c.solidBox(max(x0-bx<<8, 0), max(y0-by<<8, 0), min(x1-bx<<8, ChunkSide-1), min(y1-by<<8, ChunkSide-1)) {
				return true
			}
		}
	}
	return false
}

// solidBox is that of a terrain within a chunk.
func (c *chunk) solidBox(x0, y0, x1, y1 int) bool {
	last := -1
	for _, i := range c.of[y0 : y1+1] {
		if int(i) == last {
			continue
		}
		if last = int(i); anyBit(&c.lines[i].solid, x0, x1) {
			return true
		}
	}
	return false
}

// anyBit reports whether a bit from a to b is set.
func anyBit(row *[ChunkSide / 64]uint64, a, b int) bool {
	for word := a / 64; word <= b/64; word++ {
		m := row[word]
		if word == a/64 {
			m &= ^uint64(0) << (a % 64)
		}
		if word == b/64 {
			m &= ^uint64(0) >> (63 - b%64)
		}
		if bits.OnesCount64(m) != 0 {
			return true
		}
	}
	return false
}

// Cell returns the value of the cell at a position. Beyond the edge of the world it is 0.
func (w *World) Cell(x, y float64) uint8 {
	bx, by, cx, cy, ok := Locate(x, y)
	if !ok {
		return 0
	}
	return w.terrain.chunkAt(bx, by).line(int(cy)).cells[cx]
}

// SetCell changes the value of the cell at a position. It returns false beyond the edge
// of the world, and if it would change one chunk more than the limit of 4,096.
func (w *World) SetCell(x, y float64, v uint8) bool {
	bx, by, cx, cy, ok := Locate(x, y)
	return ok && w.terrain.set(bx, by, cx, cy, v)
}

// Passable reports whether the cell at a position is not solid.
func (w *World) Passable(x, y float64) bool {
	_, _, _, _, ok := Locate(x, y)
	return ok && !w.terrain.isSolid[w.Cell(x, y)]
}

// Locate returns the chunk of a position and the cell in that chunk, as realm writes
// them. ok is false beyond the edge of the world and for a position that is not finite.
func Locate(x, y float64) (bx, by int16, cx, cy uint8, ok bool) {
	const edge = ChunkSide << 15
	if !(x >= -edge && x < edge && y >= -edge && y < edge) {
		return 0, 0, 0, 0, false
	}
	ix, iy := int(math.Floor(x)), int(math.Floor(y))
	return int16(ix >> 8), int16(iy >> 8), uint8(ix), uint8(iy), true
}

// Place returns the position of the middle of a cell.
func Place(bx, by int16, cx, cy uint8) (x, y float64) {
	return float64(int(bx)<<8+int(cx)) + 0.5, float64(int(by)<<8+int(cy)) + 0.5
}
