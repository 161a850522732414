package account

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"parley/internal/promise"
)

// byTheBook folds as Unicode's table of full case folding says, and brings letters to one case after that, as x/text takes some of
// Cherokee back and forth. Keys of names that are stored were made so.
func byTheBook(s string) string {
	for range 2 {
		s = norm.NFKC.String(strings.Map(oneCase, cases.Fold().String(s)))
	}
	return s
}

func TestFoldingIsByTheBook(t *testing.T) {
	step := rune(1) // with the gate's counts, as all of Unicode takes seconds
	if !promise.Full() {
		step = 7
	}
	for r := rune(0); r <= unicode.MaxRune; r += step {
		if !unicode.IsGraphic(r) {
			continue
		}
		s := norm.NFKC.String(string(r))
		if unicode.IsLetter(r) || unicode.IsMark(r) { // also with neighbours to join with
			s += norm.NFKC.String("α" + string(r) + "\u0345ι\u0301" + string(r) + "\u0301\u0308")
		}
		if got, want := fold(s), byTheBook(s); got != want {
			t.Errorf("%U: %+q folds to %+q, want %+q", r, s, got, want)
		}
	}
}
