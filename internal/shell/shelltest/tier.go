package shelltest

import (
	"os"
	"testing"
)

// Tier returns the count of turns of a random loop: that of a soak under PARLEY_SOAK=1; of the
// plain one a hundredth under -short, and a fiftieth under -race, which is some fifteen times
// slower and has nothing to find in code without goroutines; and pr, if that is too long for
// every run of the tests, under PARLEY_PR=1, with which the gate runs it once more.
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

// Rounds is Tier for a count of which a plain run has a twentieth: all of it is the gate's, with PARLEY_PR=1.
func Rounds(pr, soak int) int {
	n := Tier(pr, pr, soak)
	if n == pr && os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		return max(pr/20, 1)
	}
	return n
}
