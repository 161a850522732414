// Package plain makes a stranger's text safe to show: in a terminal it cannot move the cursor, change a colour or
// turn the reading direction, and in a log it cannot begin a line of its own.
package plain

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with a dot in place of each control, escape and bidirectional character. Bytes that are no
// UTF-8 become U+FFFD. The joiners that emoji and some scripts need stay.
func Text(s string) string {
	if safe(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return '·'
		}
		return r
	}, s)
}

// safe reports whether s is all printable ASCII, as most text is.
func safe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// JSON returns a line of JSON with each such character escaped inside its strings. The line means the same.
func JSON(line []byte) []byte {
	if !bytes.ContainsFunc(line, hidden) {
		return line
	}
	var b []byte
	for _, r := range string(line) {
		switch {
		case !hidden(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// hidden reports whether a character does something instead of being seen.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
}
