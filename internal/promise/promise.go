// Package promise notes how much of each promise (the T numbers of docs/reliability.md) the tests have kept, so that the
// gate can print it and fail when a count falls short.
package promise

import (
	"fmt"
	"os"
	"testing"
)

// Kept notes that a test has run n of a promise, for a part of the project: a dialect, a package. It writes a line to the
// file that PARLEY_TALLY names, if there is one; a test that failed has kept nothing.
func Kept(t testing.TB, id, part string, n int) {
	t.Helper()
	name := os.Getenv("PARLEY_TALLY")
	if name == "" || t.Failed() {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("promise: the tally: %v", err)
	}
	defer f.Close()
	// One write of less than a page: lines of tests that run at the same time do not mix.
	if _, err := fmt.Fprintf(f, "%s\t%s\t%d\t%s\n", id, part, n, t.Name()); err != nil {
		t.Fatalf("promise: the tally: %v", err)
	}
}

// Full reports whether the counts of the gate are wanted, which are too long for every run of the tests.
func Full() bool { return os.Getenv("PARLEY_PR") != "" }
