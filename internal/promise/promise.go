// Package promise records how often tests have checked each promise (the T numbers of docs/reliability.md), so that the
// gate can print the counts and fail when one is too low.
package promise

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Keeps returns n, the number of rounds of a loop that checks promises, and records it when the test has passed. A test
// with several promises names them all: "T21 T28".
func Keeps(t testing.TB, ids, part string, n int) int {
	t.Helper()
	t.Cleanup(func() {
		for id := range strings.FieldsSeq(ids) {
			Kept(t, id, part, n)
		}
	})
	return n
}

// Kept records that a test has checked a promise n times, for a part of the project: a dialect or a package. It writes
// a line to the file that PARLEY_TALLY names, if any. A test that failed or was skipped records nothing.
func Kept(t testing.TB, id, part string, n int) {
	t.Helper()
	name := os.Getenv("PARLEY_TALLY")
	if name == "" || t.Failed() || t.Skipped() {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Errorf("promise: the tally: %v", err)
		return
	}
	defer f.Close()
	// One write of less than a page, so that lines of tests that run at the same time do not mix.
	if _, err := fmt.Fprintf(f, "%s\t%s\t%d\t%s\n", id, part, n, t.Name()); err != nil {
		t.Errorf("promise: the tally: %v", err)
	}
}

// Full reports whether to run the full counts of the gate, which take too long for every run of the tests.
func Full() bool { return os.Getenv("PARLEY_PR") != "" }

// Tier returns the count of a test: soak under PARLEY_SOAK=1, a tenth of plain under -short, pr under PARLEY_PR=1, with which
// the gate runs what takes too long for every run of the tests, and plain otherwise.
func Tier(plain, pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short():
		return max(1, plain/10)
	case os.Getenv("PARLEY_PR") != "":
		return pr
	}
	return plain
}
