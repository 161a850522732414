package lend

const (
	// tableClasses is the number of table sizes: powers of two, from FirstTable on.
	tableClasses = 16

	// FirstTable is the length of the smallest table.
	FirstTable = 2

	// LargeTable is the length from which only one table is kept.
	LargeTable = 1024

	// maxKeptEntries bounds the entries of all kept small tables together. With entries of 120
	// bytes, that is ten megabytes.
	maxKeptEntries = 80 << 10
)

// Tables lends slices whose lengths are powers of two. The zero value is ready.
type Tables[T any] struct {
	free [tableClasses]Spares[[]T]
	kept int // entries of the small ones among them
}

// tableClass returns the class of tables of n entries, a power of two.
func tableClass(n int) int {
	c := 0
	for size := FirstTable; size < n; size *= 2 {
		c++
	}
	return c
}

// Take returns a table of at least n entries with unspecified contents.
func (t *Tables[T]) Take(n int) []T {
	c := tableClass(n)
	for i := c; i < tableClasses && (i == c || n >= LargeTable); i++ {
		if table, ok := t.free[i].Take(); ok {
			if len(table) < LargeTable {
				t.kept -= len(table)
			}
			return table
		}
	}
	return make([]T, FirstTable<<c)
}

// Give keeps a table for its next use, up to a bound on the memory of all. Of the large
// tables, which a window of thousands of tiny packets needs, only the largest is kept.
func (t *Tables[T]) Give(table []T) {
	c := tableClass(len(table))
	switch {
	case c >= tableClasses:
	case len(table) < LargeTable:
		if t.kept+len(table) <= maxKeptEntries {
			t.free[c].Give(table)
			t.kept += len(table)
		}
	default:
		for i := tableClass(LargeTable); i < tableClasses; i++ {
			s := &t.free[i]
			if s.Len() > 0 && i > c {
				return
			}
			clear(s.list)
			s.list = s.list[:0]
		}
		t.free[c].Give(table)
	}
}

// Outgrown clears a table that a larger one has replaced, and keeps it if it is small.
func (t *Tables[T]) Outgrown(table []T) {
	clear(table)
	if len(table) < LargeTable {
		t.Give(table)
	}
}

// Trim drops tables that were not used since the last Trim.
func (t *Tables[T]) Trim() {
	for c := range t.free {
		if n := t.free[c].Trim(); FirstTable<<c < LargeTable {
			t.kept -= n * FirstTable << c
		}
	}
}
