package world

import (
	"math/bits"
	"reflect"
	"unsafe"
)

// rowPointer points at the struct of one entity.
type rowPointer = unsafe.Pointer

// pageRows is how many rows stand together: what a table grows by, and what is copied at once for history.
const pageRows = 64

// A table holds all entities of one kind, as pages of the game's own struct.
// A row belongs to its entity for life, so pointers into it stay good, and the
// lowest free row is taken first, so rows stay close together.
type table struct {
	kind *Kind

	like  any // a nil *T, where T is the game's struct
	size  uintptr
	bases []unsafe.Pointer // of the pages
	pages []reflect.Value

	ids    []ID
	owners []PlayerID
	used   []uint64 // a bit a row
	high   int      // one more than the greatest used row
	count  int
}

func newTable(k *Kind) *table {
	return &table{kind: k, like: reflect.Zero(reflect.PointerTo(k.typ)).Interface(), size: k.typ.Size()}
}

// newPage is the one use of reflection for state: an array of the game's type, which the garbage collector then knows as such.
func (t *table) newPage(rows int) reflect.Value {
	return reflect.MakeSlice(reflect.SliceOf(t.kind.typ), rows, rows)
}

// pagesFor returns how many pages so many rows need.
func pagesFor(rows int) int { return (rows + pageRows - 1) / pageRows }

// reach makes room for so many rows.
func (t *table) reach(rows int) {
	for len(t.pages) < pagesFor(rows) {
		page := t.newPage(pageRows)
		t.pages, t.bases = append(t.pages, page), append(t.bases, page.UnsafePointer())
		t.ids = append(t.ids, make([]ID, pageRows)...)
		t.owners = append(t.owners, make([]PlayerID, pageRows)...)
	}
	for len(t.used) < (rows+63)/64 {
		t.used = append(t.used, 0)
	}
}

func (t *table) at(row int) rowPointer {
	return unsafe.Add(t.bases[uint(row)/pageRows], uintptr(row)%pageRows*t.size)
}

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
	row := len(t.used) << 6
	for word, used := range t.used {
		if used != ^uint64(0) {
			row = word<<6 + bits.TrailingZeros64(^used)
			break
		}
	}
	t.reach(row + 1)
	t.used[row>>6] |= 1 << (row & 63)
	t.ids[row], t.owners[row] = id, owner
	t.high = max(t.high, row+1)
	t.count++
	return row
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
	pages  []reflect.Value // the last may have fewer rows than a page: most rooms are small, and history has many copies
	room   int             // how many rows they have
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
	pages := pagesFor(t.high)
	c.reach(t, t.high)
	for i := range pages {
		reflect.Copy(c.pages[i], t.pages[i]) // as many rows as the shorter has
	}
	c.ids = append(c.ids[:0], t.ids[:t.high]...)
	c.owners = append(c.owners[:0], t.owners[:t.high]...)
	c.used = append(c.used[:0], t.used[:(t.high+63)/64]...)
}

// reach makes room for so many rows. Those that are in the page that is made larger are lost.
func (c *tableCopy) reach(t *table, rows int) {
	if rows <= c.room {
		return
	}
	for i := range pagesFor(rows) {
		if i == len(c.pages) {
			c.pages = append(c.pages, reflect.Value{})
		}
		need := min(rows-i*pageRows, pageRows)
		if c.rowsOf(i) >= need {
			continue
		}
		size := 8
		for size < need {
			size *= 2
		}
		c.pages[i] = t.newPage(size)
		c.room = i*pageRows + size
	}
}

// rowsOf returns how many rows there is room for in a page.
func (c *tableCopy) rowsOf(i int) int {
	if !c.pages[i].IsValid() {
		return 0
	}
	return c.pages[i].Len()
}

// at returns a row of a copy of t.
func (c *tableCopy) at(t *table, row int) rowPointer {
	return unsafe.Add(c.pages[row/pageRows].UnsafePointer(), uintptr(row%pageRows)*t.size)
}

// body returns a body of a copy of t.
func (c *tableCopy) body(t *table, row int) *Body {
	return (*Body)(unsafe.Add(c.at(t, row), t.kind.body))
}

func (t *table) load(c *tableCopy) {
	t.reach(c.high)
	for i := range pagesFor(c.high) {
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
