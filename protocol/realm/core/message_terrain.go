package core

import (
	"encoding/binary"
	"iter"

	"parley/internal/wire"
)

// Chunk is a block of 256 by 256 cells. Cells that are not listed have the default value.
//
//	 0        2        4            5           7
//	+--------+--------+------------+-----------+----------------------------+
//	| bx i16 | by i16 | default u8 | count u16 | x u8, y u8, value u8 each  |
//	+--------+--------+------------+-----------+----------------------------+
//
// The document does not say what happens if a cell is listed twice. Here, the last value is the
// valid one.
type Chunk struct {
	BX, BY  int16
	Default uint8
	Cells   Cells
}

// Cells are the listed cells of a chunk in wire form: 3 bytes each. The zero value has none.
type Cells struct{ raw []byte }

// Cell is one cell: its place in the chunk, from the lower left corner, and its value.
type Cell struct {
	X, Y, Value uint8
}

// MakeCells returns cells in wire form. The error is ErrTooMany.
func MakeCells(list ...Cell) (Cells, error) {
	if len(list) > MaxListed {
		return Cells{}, ErrTooMany
	}
	var c Cells
	for _, cell := range list {
		c.raw = append(c.raw, cell.X, cell.Y, cell.Value)
	}
	return c, nil
}

// Len returns the number of listed cells.
func (c Cells) Len() int { return len(c.raw) / cellBytes }

// All yields the listed cells.
func (c Cells) All() iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		r := wire.Big(c.raw)
		for r.Len() > 0 {
			if !yield(Cell{r.U8("x"), r.U8("y"), r.U8("value")}) {
				return
			}
		}
	}
}

// Terrain holds the values of a chunk's cells, by row: the value of (x;y) is at y*256 + x.
type Terrain [ChunkCells]uint8

// FillIn writes the values of the whole chunk into t.
func (c *Chunk) FillIn(t *Terrain) {
	for i := range t {
		t[i] = c.Default
	}
	for cell := range c.Cells.All() {
		t[int(cell.Y)<<8|int(cell.X)] = cell.Value
	}
}

// AppendChunk appends a chunk with the cells of t. The most common value is the default, "so
// that the count always fits". It appends at most MaxChunk bytes.
func AppendChunk(b []byte, bx, by int16, t *Terrain) []byte {
	common, count := t.mostCommon()
	b = binary.BigEndian.AppendUint16(b, uint16(bx))
	b = binary.BigEndian.AppendUint16(b, uint16(by))
	b = append(b, common)
	b = binary.BigEndian.AppendUint16(b, uint16(ChunkCells-count))
	for i := 0; i < len(t); i += 8 {
		if binary.LittleEndian.Uint64(t[i:]) == eight(common) {
			continue
		}
		for j, v := range t[i : i+8] {
			if v != common {
				b = append(b, byte(i+j), byte(i>>8), v)
			}
		}
	}
	return b
}

// mostCommon returns the most common value, and how often it is there. Terrain is mostly
// even, so eight cells are looked at together.
func (t *Terrain) mostCommon() (common uint8, count int) {
	var counts [256]int
	for i := 0; i < len(t); i += 8 {
		if binary.LittleEndian.Uint64(t[i:]) == eight(t[i]) {
			counts[t[i]] += 8
			continue
		}
		for _, v := range t[i : i+8] {
			counts[v]++
		}
	}
	for v, n := range counts {
		if n > counts[common] {
			common = uint8(v)
		}
	}
	return common, counts[common]
}

// eight returns eight cells of the same value.
func eight(v uint8) uint64 { return uint64(v) * 0x0101010101010101 }

func (c *Chunk) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(c.BX))
	b = binary.BigEndian.AppendUint16(b, uint16(c.BY))
	b = append(b, c.Default)
	b = binary.BigEndian.AppendUint16(b, uint16(c.Cells.Len()))
	return append(b, c.Cells.raw...)
}

// readChunk reads a chunk. In a stream its cells may not have come yet: a size that cannot be
// within the message is refused before any are waited for.
func readChunk(r *wire.BigReader, limit int) (c Chunk) {
	c = Chunk{BX: r.I16("bx"), BY: r.I16("by"), Default: r.U8("default")}
	at := r.Offset()
	size := int(r.U16("cell count")) * cellBytes
	fits(r, at, "cell count", size, limit)
	c.Cells.raw = r.Bytes("cells", size, size)
	return c
}

// Chunks are the chunks of a chunks_update in wire form. The zero value has none.
type Chunks struct {
	count int
	raw   []byte
}

// MakeChunks returns chunks in wire form. The error is ErrTooMany.
func MakeChunks(list ...Chunk) (Chunks, error) {
	if len(list) > MaxListed {
		return Chunks{}, ErrTooMany
	}
	c := Chunks{count: len(list)}
	for i := range list {
		c.raw = list[i].appendTo(c.raw)
	}
	return c, nil
}

// Len returns the number of chunks.
func (c Chunks) Len() int { return c.count }

// All yields the chunks.
func (c Chunks) All() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		r := wire.Big(c.raw)
		for range c.count {
			if !yield(readChunk(&r, len(c.raw))) {
				return
			}
		}
	}
}

// ChunkID identifies a chunk by "the multiple of 256 of its coordinates".
type ChunkID struct{ BX, BY int16 }

// Wanted are the chunks that a terrain_request asks for, in wire form. The zero value has
// none.
type Wanted struct{ raw []byte }

// MakeWanted returns a list of chunks to ask for. It returns ErrTooMany for more than MaxWanted.
func MakeWanted(list ...ChunkID) (Wanted, error) {
	if len(list) > MaxWanted {
		return Wanted{}, ErrTooMany
	}
	var w Wanted
	for _, id := range list {
		w.raw = binary.BigEndian.AppendUint16(w.raw, uint16(id.BX))
		w.raw = binary.BigEndian.AppendUint16(w.raw, uint16(id.BY))
	}
	return w, nil
}

// Len returns the number of chunks.
func (w Wanted) Len() int { return len(w.raw) / wantedBytes }

// All yields the chunks.
func (w Wanted) All() iter.Seq[ChunkID] {
	return func(yield func(ChunkID) bool) {
		r := wire.Big(w.raw)
		for r.Len() > 0 {
			if !yield(ChunkID{r.I16("bx"), r.I16("by")}) {
				return
			}
		}
	}
}
