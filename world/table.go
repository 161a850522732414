package world

import (
	"math/bits"
	"reflect"
	"unsafe"
)

// rowPointer points at the struct of one entity.
type rowPointer = unsafe.Pointer

// pageRows is how many rows are copied at once for history. The rows of a table
// stand in one array; its pages are views of that.
const pageRows = 64

// A table holds all entities of one kind, as an array of the game's own struct.
// A row belongs to its entity for life, so pointers into it stay good, and the
// lowest free row is taken first, so rows stay close together.
type table struct {
	kind *Kind

	rows  any // a *[]T, where T is the game's struct
	base  unsafe.Pointer
	size  uintptr
	pages []reflect.Value // of rows

	ids    []ID
	owners []PlayerID
	used   []uint64 // a bit a row
	high   int      // one more than the greatest used row
	count  int
}

func newTable(k *Kind) *table {
	n := (k.rows + pageRows - 1) / pageRows * pageRows
	// The one use of reflection for state: an array of the game's type, which
	// the garbage collector then knows as such.
	rows := reflect.New(reflect.SliceOf(k.typ))
	rows.Elem().Set(reflect.MakeSlice(reflect.SliceOf(k.typ), n, n))
	t := &table{
		kind: k, rows: rows.Interface(), base: rows.Elem().UnsafePointer(), size: k.typ.Size(),
		ids: make([]ID, n), owners: make([]PlayerID, n), used: make([]uint64, n/64),
	}
	for i := 0; i < n; i += pageRows {
		t.pages = append(t.pages, rows.Elem().Slice(i, i+pageRows))
	}
	return t
}

func (t *table) at(row int) rowPointer { return unsafe.Add(t.base, uintptr(row)*t.size) }

func (t *table) body(row int) *Body { return (*Body)(unsafe.Add(t.at(row), t.kind.body)) }

// next returns the first used row from row on, or -1.
func (t *table) next(row int) int {
	for word := row >> 6; word<<6 < t.high; word++ {
		left := t.used[word]
		if word == row>>6 {
			left &= ^uint64(0) << (row & 63)
		}
		if left != 0 {
			return word<<6 + bits.TrailingZeros64(left)
		}
	}
	return -1
}

func (t *table) isUsed(row int) bool { return t.used[row>>6]>>(row&63)&1 != 0 }

// take uses the lowest free row, or returns -1 if there are as many as may be.
func (t *table) take(id ID, owner PlayerID) int {
	if t.count >= t.kind.rows {
		return -1
	}
	for word, used := range t.used {
		if used == ^uint64(0) {
			continue
		}
		bit := bits.TrailingZeros64(^used)
		row := word<<6 + bit
		t.used[word] |= 1 << bit
		t.ids[row], t.owners[row] = id, owner
		t.high = max(t.high, row+1)
		t.count++
		return row
	}
	return -1
}

func (t *table) release(row int) {
	t.used[row>>6] &^= 1 << (row & 63)
	t.ids[row], t.owners[row] = 0, 0
	t.count--
	for t.high > 0 && !t.isUsed(t.high-1) {
		t.high--
	}
}

// A tableCopy is a table as it was. Its arrays grow to what was needed once.
type tableCopy struct {
	pages  []reflect.Value
	ids    []ID
	owners []PlayerID
	used   []uint64
	high   int
	count  int
}

// save copies the rows that are in use. reflect.Copy is a plain move of memory
// that tells the garbage collector of the strings in it; it looks at no field.
func (t *table) save(c *tableCopy) {
	c.high, c.count = t.high, t.count
	pages := (t.high + pageRows - 1) / pageRows
	for len(c.pages) < pages {
		c.pages = append(c.pages, t.newPage())
	}
	for i := range pages {
		reflect.Copy(c.pages[i], t.pages[i])
	}
	c.ids = append(c.ids[:0], t.ids[:t.high]...)
	c.owners = append(c.owners[:0], t.owners[:t.high]...)
	c.used = append(c.used[:0], t.used[:pages]...)
}

func (t *table) newPage() reflect.Value {
	return reflect.MakeSlice(reflect.SliceOf(t.kind.typ), pageRows, pageRows)
}

// body returns a body of a copy of t.
func (c *tableCopy) body(t *table, row int) *Body {
	at := unsafe.Add(c.pages[row/pageRows].UnsafePointer(), uintptr(row%pageRows)*t.size)
	return (*Body)(unsafe.Add(at, t.kind.body))
}

func (t *table) load(c *tableCopy) {
	pages := (c.high + pageRows - 1) / pageRows
	for i := range pages {
		reflect.Copy(t.pages[i], c.pages[i])
	}
	if t.high > c.high {
		clear(t.ids[c.high:t.high])
		clear(t.owners[c.high:t.high])
	}
	copy(t.ids, c.ids)
	copy(t.owners, c.owners)
	clear(t.used[copy(t.used, c.used):])
	t.high, t.count = c.high, c.count
}
