package kit

import (
	"runtime"
	"testing"

	"parley/internal/pagetest"
)

// Held compares what a connection in a state holds on the heap with its row of docs/limits.md, and returns it. Hostile peers
// drive connections to that state in fill, which returns how many there are.
func Held(t *testing.T, dialect, state string, fill func() int) int {
	t.Helper()
	if Race {
		t.Skip("the race detector has a heap of its own")
	}
	before := pagetest.Heap()
	n := fill()
	got := max(0, pagetest.Heap()-before) / n
	t.Logf("%d bytes each", got)
	pagetest.Reaches(t, dialect, state, got)
	runtime.KeepAlive(fill)
	return got
}
