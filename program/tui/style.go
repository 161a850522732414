package tui

import (
	"strconv"
	"strings"

	"parley/world"
)

// style is the colour of a character: a number of the terminal's 16 colours and 1, bold and reverse. The zero style is plain.
type style uint8

const (
	bold    style = 1 << 6
	reverse style = 1 << 7
	colours style = 1<<6 - 1
)

const (
	red    style = 1 + 1
	green  style = 1 + 2
	yellow style = 1 + 3
	cyan   style = 1 + 6
	grey   style = 1 + 8
)

// palette are the colours of players, who are told apart by them. Red is for hits, and yellow is the own one's.
var palette = [...]style{1 + 14, 1 + 10, 1 + 13, 1 + 12, 1 + 6, 1 + 2, 1 + 5, 1 + 4}

// styleOf returns the colour of another player's entity: the same as long as it lives.
func styleOf(id world.ID) style {
	h := uint64(id) * 0x9e3779b97f4a7c15
	return palette[h>>61]
}

// appendStyle appends the sequence that changes to a style.
func (st style) appendTo(b []byte) []byte {
	b = append(b, "\x1b[0"...)
	if st&bold != 0 {
		b = append(b, ";1"...)
	}
	if st&reverse != 0 {
		b = append(b, ";7"...)
	}
	if c := int(st & colours); c > 8 {
		b = strconv.AppendInt(append(b, ';'), int64(90+c-9), 10)
	} else if c > 0 {
		b = strconv.AppendInt(append(b, ';'), int64(30+c-1), 10)
	}
	return append(b, 'm')
}

// paint returns a text in a style.
func (st style) paint(s string) string {
	if st == 0 || s == "" {
		return s
	}
	return string(st.appendTo(nil)) + s + "\x1b[0m"
}

// bar draws a share of something, such as the health that is left.
func bar(share float64, width int) string {
	full := int(max(0, min(share, 1))*float64(width) + 0.5)
	if share > 0 {
		full = max(full, 1)
	}
	st := green
	switch {
	case share <= 0.3:
		st = red
	case share <= 0.6:
		st = yellow
	}
	return st.paint(strings.Repeat("=", full)) + grey.paint(strings.Repeat("-", width-full))
}
