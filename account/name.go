package account

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Name is a name in its two forms.
type Name struct {
	// Shown is the name as other players see it, in NFKC.
	Shown string
	// Key is the form for comparison: two names with the same Key are the same name.
	Key string
}

// ErrBadName is returned for an invalid name.
var ErrBadName = errors.New("a name has 3 to 32 letters, digits, _ and -")

// ParseName checks a name and returns its two forms.
//
// A name has 3 to 32 characters after NFKC: letters of any script, digits, `_` and `-`. Case does
// not make it another name.
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
	return Name{Shown: shown, Key: NameKey(shown)}, nil
}

// NameKey returns the form in which names are compared, for any text. For an account's name it is Name.Key. Invisible
// characters, blanks at the ends and repeated blanks do not count: names that differ only in them look alike. NameKey
// returns "" if nothing visible is left.
func NameKey(s string) string {
	s = strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(fold(norm.NFKC.String(s))), " ")
}

// unseen reports whether a character has no look of its own: those that Unicode calls default ignorable (joiners, selectors of
// variants, fillers, marks of direction), and two that are drawn empty. It takes some marks of format for unseen that are
// drawn: names need none of them.
func unseen(r rune) bool {
	const brailleBlank, nullNotehead = '\u2800', '\U0001d159'
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == brailleBlank || r == nullNotehead
}

// allowed reports whether a name may have r. Letters that no one sees (the fillers of Hangul)
// are refused, as a name with one looks like the name without.
func allowed(r rune) bool {
	if r == '_' || r == '-' {
		return true
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// fold removes what does not count when names are compared: case, also where folding changes the number of letters (ß is ss), and then
// whatever is no more in NFKC. TestFoldingIsByTheBook holds it against Unicode's table, which is too large for each game to carry.
func fold(s string) string {
	// The second turn changes nothing for any letter that a name may have (TestNamesAreStable), and there
	// is no third: what a stranger sends must not decide how long this goes on.
	for range 2 {
		for _, l := range longer {
			s = strings.ReplaceAll(s, l[0], l[1])
		}
		s = norm.NFKC.String(strings.Map(oneCase, s))
	}
	return s
}

// longer has the letters that folding takes apart and NFKC does not put together again.
var longer = [...][2]string{
	{"ß", "ss"}, {"ẞ", "ss"}, {"\u0130", "i\u0307"},
	{"\u0390", "\u03b9\u0308\u0301"}, {"\u1fd2", "\u03b9\u0308\u0300"}, {"\u1fd6", "\u03b9\u0342"}, {"\u1fd7", "\u03b9\u0308\u0342"},
}

// oneCase returns the letter that stands for r in all its cases: the lower case of the first of them.
func oneCase(r rune) rune {
	first := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		first = min(first, other)
	}
	lower := unicode.ToLower(first)
	// Lower case may leave the circle of cases: that of İ is i, which is another letter.
	for other := unicode.SimpleFold(first); other != first; other = unicode.SimpleFold(other) {
		if other == lower {
			return lower
		}
	}
	return first
}
