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
		{"fillers, which are letters and marks", "a\u3164b\u115fc\uffa0d\u034fe\u17b4", "a·b·c·d·e·"},
		{"joiners that join nothing", "\u200dser\u200cver\u200d é\u200dx e\u0301\u200d Ж\u200d λ\u200d 王\u200d 7\u200d", "·ser·ver· é·x e\u0301· Ж· λ· 王· 7·"},
		{"a joiner behind what is not seen", "👩\u200b\u200d👧", "👩··👧"},
		{"selectors that select nothing", "\ufe0fann\ufe0f é\ufe00 Ж\U000e0100", "·ann· é· Ж·"},
		{"emoji with selectors", "❤\ufe0f\u200d🔥 👍🏽 1\ufe0f\u20e3 ‼\ufe0f 🏳\ufe0f\u200d🌈", "❤\ufe0f\u200d🔥 👍🏽 1\ufe0f\u20e3 ‼\ufe0f 🏳\ufe0f\u200d🌈"},
		{"an emoji with a skin", "👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Persian with a mark", "مِ\u200cخ", "مِ\u200cخ"},
		{"Hindi and Sinhala", "क्\u200dष ක්\u200dෂ", "क्\u200dष ක්\u200dෂ"},
		{"a variant of a Han letter", "葛\U000e0100", "葛\U000e0100"},
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
		hidden := got == "x·" && r != '·'
		if got != in && !hidden {
			t.Fatalf("%U became %q", r, got)
		}
		if Text(got) != got {
			t.Fatalf("%U is not plain: %q", r, got)
		}
		if !hidden {
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
