package pagetest

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Limit returns the most bytes that a connection of a dialect takes in a state, from
// docs/limits.md. Callers write dialect and state as literals, so that a test can find rows that
// no test uses.
func Limit(t testing.TB, dialect, state string) int {
	t.Helper()
	for _, row := range Tables(t, filepath.Join(Root(t), limitsPage))[limitsHeading] {
		if row["dialect"] != dialect || row["state"] != state {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(row["worst bytes"], ",", ""))
		if err != nil {
			t.Fatalf("%s, %s, %s: %q is no number", limitsPage, dialect, state, row["worst bytes"])
		}
		return n
	}
	t.Fatalf("%s has no row for %s, %s", limitsPage, dialect, state)
	return 0
}

// Reaches fails the test unless the bytes of a connection match its row of docs/limits.md: at most
// 1.2 times as many, and at least a third.
func Reaches(t testing.TB, dialect, state string, got int) {
	t.Helper()
	want := Limit(t, dialect, state)
	if got > want+want/5 || got < want/3 {
		t.Errorf("%s, %s: a connection holds %d bytes, and %s says %d", dialect, state, got, limitsPage, want)
	}
}

// Heap returns the bytes of live objects on the heap. The difference between two calls is the
// memory that was kept between them.
func Heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second frees objects with finalizers
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

const (
	limitsPage    = "docs/limits.md"
	limitsHeading = "A connection"
)

// Root returns the directory of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatalf("no go.mod above here: %v", err)
	return ""
}
