package account

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A Name is a name in its two forms.
type Name struct {
	// Shown is the name as others see it, in NFKC.
	Shown string
	// Key is the name as it is compared: two names with the same Key are the same name.
	Key string
}

// ErrBadName is returned for what cannot be a name.
var ErrBadName = errors.New("a name has 3 to 32 letters, digits, _ and -")

// ParseName checks a name and brings it into its two forms.
//
// "Names are 3–32 characters of letters, digits, `_` and `-` (Unicode letters after
// NFKC; compared without case)." (realm.md, Register)
func ParseName(s string) (Name, error) {
	if len(s) > maxNameBytes || !utf8.ValidString(s) {
		return Name{}, fmt.Errorf("account: %w", ErrBadName)
	}
	shown := norm.NFKC.String(s)
	n := 0
	for _, r := range shown {
		if !allowed(r) {
			return Name{}, fmt.Errorf("account: %w", ErrBadName)
		}
		n++
	}
	if n < minNameRunes || n > maxNameRunes {
		return Name{}, fmt.Errorf("account: %w", ErrBadName)
	}
	return Name{Shown: shown, Key: fold(shown)}, nil
}

// allowed reports whether a name may have r. Letters that no one sees (the fillers of Hangul)
// are refused, as a name with one looks like the name without.
func allowed(r rune) bool {
	if r == '_' || r == '-' {
		return true
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// fold removes what does not count when names are compared. Folding may undo normal form and
// normal form may bring back something to fold, so both are done until nothing changes,
// which the second turn confirms for nearly all names.
func fold(s string) string {
	for {
		next := norm.NFKC.String(cases.Fold().String(s))
		if next == s {
			return s
		}
		s = next
	}
}
