package world

import (
	"iter"
	"math"
	"slices"
)

// gridCell is the side of a grid's square in cells; gridBits is how many bits
// the number of a square then has in each direction.
const (
	gridCell = 16
	gridBits = 20
)

// A grid finds what is near a place. It is a list of (square, what is in it),
// sorted by square: a row of squares is then one run of it. The zero value is
// empty.
//
//	row of squares 20 bits | square in the row 20 bits | reference 24 bits
type grid struct {
	list []uint64
	rows []gridRow // those that are not empty, and one beyond all
}

type gridRow struct {
	row  uint32
	from uint32 // where in the list it begins; it ends where the next one does
}

func (g *grid) reset() { g.list = g.list[:0] }

// squareOf clamps before it converts: what becomes of a float that no integer
// can hold, or of a NaN, differs from processor to processor.
func squareOf(v float64) uint64 {
	const edge = ChunkSide << 15
	switch {
	case !(v > -edge):
		return 0
	case v >= edge:
		return 1<<gridBits - 1
	}
	return uint64(int(math.Floor(v/gridCell)) + 1<<(gridBits-1))
}

func (g *grid) add(x, y float64, ref uint32) {
	g.list = append(g.list, squareOf(y)<<44|squareOf(x)<<24|uint64(ref))
}

func (g *grid) sort() {
	slices.Sort(g.list)
	g.rows = g.rows[:0]
	next := uint64(0) // no row was met from this one on
	for i, key := range g.list {
		if row := key >> 44; row >= next {
			g.rows = append(g.rows, gridRow{uint32(row), uint32(i)})
			next = row + 1
		}
	}
	g.rows = append(g.rows, gridRow{1 << gridBits, uint32(len(g.list))})
}

// seek returns which of the rows is the first that is not below row.
func (g *grid) seek(row uint64) int {
	low, high := 0, len(g.rows)
	for low < high {
		if mid := int(uint(low+high) / 2); uint64(g.rows[mid].row) < row {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// upTo reports whether there is a kth row and it is not above row.
func (g *grid) upTo(k int, row uint64) bool {
	return k+1 < len(g.rows) && uint64(g.rows[k].row) <= row
}

// run returns the part of the list in the kth row, from x0 to x1.
func (g *grid) run(k int, x0, x1 uint64) []uint64 {
	row := uint64(g.rows[k].row) << 44
	list := g.list[g.rows[k].from:g.rows[k+1].from]
	list = list[lowerBound(list, row|x0<<24):]
	to, end := 0, row|x1<<24|(1<<24-1)
	for to < len(list) && list[to] <= end {
		to++
	}
	return list[:to]
}

// within iterates over the references in the squares that a circle touches. The grid must not change meanwhile.
func (g *grid) within(x, y, distance float64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		x0, x1, last := squareOf(x-distance), squareOf(x+distance), squareOf(y+distance)
		for k := g.seek(squareOf(y - distance)); g.upTo(k, last); k++ {
			for _, entry := range g.run(k, x0, x1) {
				if !yield(uint32(entry & (1<<24 - 1))) {
					return
				}
			}
		}
	}
}

// lowerBound is the index of the first that is not below key.
func lowerBound(list []uint64, key uint64) int {
	low, high := 0, len(list)
	for low < high {
		mid := int(uint(low+high) / 2)
		if list[mid] < key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// index makes the grid of all bodies, once a step and after each MoveAll.
func (w *World) index() {
	if w.fresh {
		return
	}
	w.fresh = true
	w.grid.reset()
	for _, t := range w.tables {
		if !t.kind.HasBody {
			continue
		}
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			b := t.body(row)
			w.grid.add(b.X, b.Y, uint32(t.kind.index)<<16|uint32(row))
		}
	}
	w.grid.sort()
}

// Reindex makes Near and Touching find bodies at their present positions. Call it after
// Step has spawned bodies or changed X and Y itself since the last MoveAll.
func (w *World) Reindex() { w.fresh = false }

// Near iterates over the bodies within a distance of (x, y), in an order that is the same
// in every run. It looks bodies up in an index of their positions. The first call in a step
// makes the index, and so does the first call after MoveAll or Reindex. If Step has since
// moved a body away by setting X and Y, the body is left out. If Step has moved it near, it
// is not found.
func (w *World) Near(x, y, distance float64) iter.Seq2[ID, *Body] {
	// Converted, as the caller may have multiplied to get them: see "Determinism".
	x, y, distance = float64(x), float64(y), float64(distance)
	return func(yield func(ID, *Body) bool) {
		w.index()
		distance = max(0, min(distance, ChunkSide<<16))
		x0, x1 := squareOf(x-distance), squareOf(x+distance)
		square := float64(distance * distance)
		last := squareOf(y + distance)
		for k := w.grid.seek(squareOf(y - distance)); w.grid.upTo(k, last); {
			row := uint64(w.grid.rows[k].row)
			for _, entry := range w.grid.run(k, x0, x1) {
				t := w.tables[entry>>16&0xff]
				at := int(entry & 0xffff)
				if !t.isUsed(at) {
					continue
				}
				b := t.body(at)
				dx, dy := b.X-x, b.Y-y
				if float64(dx*dx)+float64(dy*dy) <= square && !yield(t.ids[at], b) {
					return
				}
			}
			k = w.grid.seek(row + 1) // yield may have made another grid
		}
	}
}

// Touching iterates over the bodies whose outlines overlap that of b, except b itself. It
// uses the same index as Near.
func (w *World) Touching(b *Body) iter.Seq2[ID, *Body] {
	return func(yield func(ID, *Body) bool) {
		reach := w.Hitbox(b).reach() + w.widest()
		for id, other := range w.Near(b.X, b.Y, reach) {
			if other != b && w.Overlap(b, other) && !yield(id, other) {
				return
			}
		}
	}
}

// widest is the reach of the largest hitbox.
func (w *World) widest() float64 {
	reach := 0.0
	for _, h := range w.game.Hitboxes {
		reach = max(reach, h.reach())
	}
	return reach
}
