package message

import (
	"parley/world"
)

// Chunk is a chunk of terrain: "bx i16, by i16, default u8, count u16, and count times x u8, y u8, value u8".
type Chunk struct {
	Place   world.ChunkPlace
	Default uint8 // the value of all cells that are not listed
	cells   []byte
}

const (
	// ChunkHeadBytes is the size of a chunk without cells, and CellBytes that of each cell.
	ChunkHeadBytes = 7
	CellBytes      = 3
)

// AppendChunk appends a chunk in a dialect's byte order. The argument chunk is big endian, as realm writes it.
func AppendChunk(b, chunk []byte, o world.Order) []byte {
	head := len(b)
	b = append(b, chunk...)
	if !o.Big {
		for _, i := range [...]int{head, head + 2, head + 5} {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
	return b
}

// ParseChunk reads a chunk.
func ParseChunk(b []byte, o world.Order) (c Chunk, ok bool) {
	r := read(b, o)
	c.Place = world.ChunkPlace{BX: int16(r.u16("bx")), BY: int16(r.u16("by"))}
	c.Default = r.U8("default")
	n := CellBytes * int(r.u16("count"))
	c.cells = r.Bytes("cells", n, n)
	return c, r.Done()
}

// FillIn writes the values of all cells of the chunk to cells.
func (c *Chunk) FillIn(cells *world.Cells) {
	for i := range cells {
		cells[i] = c.Default
	}
	for b := c.cells; len(b) >= CellBytes; b = b[CellBytes:] {
		cells[int(b[1])<<8|int(b[0])] = b[2]
	}
}
