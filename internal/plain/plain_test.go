package plain

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text", "hello, world", "hello, world"},
		{"other scripts", "Жанна 王小明 é", "Жанна 王小明 é"},
		{"a family of emoji", "👩\u200d👧", "👩\u200d👧"},
		{"an escape sequence", "\x1b[31mred\x1b]0;title\a", "·[31mred·]0;title·"},
		{"C1 controls", "a\u009b2Jb\u0085", "a·2Jb·"},
		{"lines", "one\r\ntwo\u2028three\u2029", "one··two·three·"},
		{"another direction", "\u202eevil\u2066x\u2069\u200f\u061c", "·evil·x···"},
		{"not seen", "a\u200bb\ufeffc\u00add\U000e0041", "a·b·c·d·"},
		{"not UTF-8", "a\xffb\x9b", "a\ufffdb\ufffd"},
		{"delete", "a\x7fb", "a·b"},
		{"nothing", "", ""},
	} {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("%s: %q became %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// Every character is either shown as it is or hidden, and JSON means what it meant.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		in := "x" + string(r)
		got := Text(in)
		if got != in && (!hidden(r) || got != "x·") {
			t.Fatalf("%U became %q", r, got)
		}
		if Text(got) != got {
			t.Fatalf("%U is not plain: %q", r, got)
		}
		if !hidden(r) {
			continue
		}
		line, _ := json.Marshal(in)
		out := JSON(line)
		var back string
		if err := json.Unmarshal(out, &back); err != nil || back != in || Text(string(out)) != string(out) {
			t.Fatalf("%U: %s became %s, which means %q, %v", r, line, out, back, err)
		}
	}
}
