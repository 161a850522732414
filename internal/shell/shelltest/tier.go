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
