package account

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// serverName is whose name the server's own lines of chat have.
const serverName = "server"

// Reserved reports whether a name is `server` or looks like it: a player of that name could impersonate the server. Case, marks
// on letters, letters of other scripts, digits that stand for letters, invisible characters, `_`, `-` and blanks do not make it
// another name. `guest-` and a number is reserved too: the game gives such names to players without a name. Reserved takes any
// text, even one that ParseName refuses.
func Reserved(name string) bool {
	if len(name) > maxNameBytes {
		return false // it is nobody's name
	}
	if isGuests(NameKey(name)) {
		return true
	}
	left := serverName
	for _, r := range norm.NFKD.String(fold(norm.NFKC.String(name))) {
		switch c := lookOf(r); {
		case c == 0: // not seen
		case left == "" || byte(c) != left[0]:
			return false
		default:
			left = left[1:]
		}
	}
	return left == ""
}

// isGuests reports whether a key is a guest's name.
func isGuests(key string) bool {
	number, ok := strings.CutPrefix(key, "guest-")
	return ok && strings.Trim(number, "0123456789") == ""
}

// lookOf returns which letter of `server` a letter after folding looks like: 0 if it is not seen or only divides,
// and '?' if it looks like none.
func lookOf(r rune) rune {
	for _, l := range looksLike {
		if strings.ContainsRune(l.letters, r) {
			return l.as
		}
	}
	switch {
	case r == '_' || r == '-' || r == '.' || r == '·' || unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.C) || unseen(r):
		return 0
	}
	return '?'
}

// looksLike has the letters that are easily read as those of `server`, in the forms that fold leaves: of Latin, Cyrillic,
// Greek, Armenian, Georgian, Cherokee, Lisu, Deseret and Coptic. Styled letters (bold, wide, raised) are plain ones after NFKD.
var looksLike = []struct {
	as      rune
	letters string
}{
	{'s', "s5$ꜱƨʂѕꚃտꮪꮥꓢ𐑈ȿᵴᶊ"},
	{'e', "e3€єеэҽәɛǝəɘεᴇꬲꭼꮛꓰⲉҿɇ"},
	{'r', "rгяʀɾɼɽɍᴦꭇꭈꮁꮢꭱꓣⲅґᴙꝛɹɻր"},
	{'v', "vѵνυʋᴠꮩꓦ٧۷ⱴʌ√ꝟᶌ"},
}
