// Package plain makes untrusted text safe to show. In a terminal such text cannot move the cursor, change a colour or reverse
// the reading direction. In a log it cannot begin a new line.
package plain

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with a dot in place of each control, escape, bidirectional and invisible character. Bytes that are not UTF-8
// become U+FFFD. Joiners and variation selectors are kept where they change the appearance: after emoji, and in scripts that
// need them.
func Text(s string) string {
	if safe(s) {
		return s
	}
	var e eye
	return strings.Map(func(r rune) rune {
		if e.misses(r) {
			return '·'
		}
		return r
	}, s)
}

// safe reports whether s is all printable ASCII, the usual case.
func safe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// JSON returns a line of JSON in which each character that Text replaces is escaped. Its meaning does not change.
func JSON(line []byte) []byte {
	var look eye
	if !bytes.ContainsFunc(line, look.misses) {
		return line
	}
	var b []byte
	var e eye
	for _, r := range string(line) {
		switch {
		case !e.misses(r):
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

// eye reads a text from its beginning, character by character. The zero value has read nothing.
type eye struct {
	last rune // the last visible character, without its combining marks; 0 if there was none
}

// misses reports whether the next character is invisible: it has an effect instead of a shape, or neither.
func (e *eye) misses(r rune) bool {
	switch {
	case r < 0x7f && r >= ' ':
	case r == nonJoiner || r == joiner:
		return !isSign(e.last) && !unicode.In(e.last, joining...)
	case unicode.Is(unicode.Variation_Selector, r):
		keycap := e.last == '#' || e.last == '*' || '0' <= e.last && e.last <= '9'
		return !isSign(e.last) && !keycap && !unicode.In(e.last, unicode.Han, unicode.Mongolian)
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point):
		e.last = 0
		return true
	case unicode.Is(unicode.Mn, r):
		return false
	}
	e.last = r
	return false
}

const nonJoiner, joiner = '\u200c', '\u200d'

// isSign reports whether a character may be an emoji, or a part of one.
func isSign(r rune) bool {
	return r > 0x7f && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm, unicode.Po, unicode.Pd)
}

// joining are the scripts in which a joiner changes what is seen.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Phags_Pa,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}
