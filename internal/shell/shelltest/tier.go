package shelltest

import (
	"os"
	"testing"
)

// Tier returns the number of rounds of a random test. It is soak under PARLEY_SOAK=1. Under -short it is a
// hundredth of plain. Under -race it is a fiftieth of plain: the race detector is some fifteen times slower
// and finds nothing in code without goroutines. It is pr under PARLEY_PR=1, with which the gate runs counts
// that are too long for every run of the tests. Otherwise it is plain.
func Tier(plain, pr, soak int) int {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return soak
	case testing.Short():
		return max(plain/100, 1)
	case Race:
		return max(plain/50, 1)
	case os.Getenv("PARLEY_PR") != "":
		return pr
	}
	return plain
}

// Rounds is Tier with a plain count of a twentieth of pr. The gate runs all of pr, with PARLEY_PR=1.
func Rounds(pr, soak int) int {
	n := Tier(pr, pr, soak)
	if n == pr && os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		return max(pr/20, 1)
	}
	return n
}
