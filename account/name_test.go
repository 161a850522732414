package account_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/account"
	"parley/internal/kit/chance"
	"parley/internal/promise"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name       string
		in         string
		shown, key string // empty: refused
	}{
		{"plain", "Ann_2-b", "Ann_2-b", "ann_2-b"},
		{"three letters", "abc", "abc", "abc"},
		{"two letters", "ab", "", ""},
		{"32 letters", strings.Repeat("é", 32), strings.Repeat("é", 32), strings.Repeat("é", 32)},
		{"33 letters", strings.Repeat("a", 33), "", ""},
		{"nothing", "", "", ""},
		{"wide letters and digits", "Ａｎｎ１", "Ann1", "ann1"},
		{"a letter and its mark", "E\u0301va", "Éva", "éva"},
		{"a mark that melts with nothing", "q\u0301aa", "", ""},
		{"a ligature, which is two letters", "ﬁx", "fix", "fix"},
		{"two letters that fold to three", "ßa", "", ""},
		{"a letter that folds to two", "Straße", "Straße", "strasse"},
		{"a capital of it", "STRAẞE", "STRAẞE", "strasse"},
		{"a final sigma", "ΟΔΥΣΣΕΥΣ", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"},
		{"Cyrillic", "Жанна", "Жанна", "жанна"},
		{"Chinese", "王小明", "王小明", "王小明"},
		{"the Turkish capital i", "İrem", "İrem", "i\u0307rem"},
		{"a number in a circle", "①②③", "123", "123"},
		{"a roman numeral", "Ⅷabc", "VIIIabc", "viiiabc"},
		{"small Cherokee", "ꭰꭱꭲ", "ꭰꭱꭲ", "ꭰꭱꭲ"},
		{"Cherokee", "ᎠᎡᎢ", "ᎠᎡᎢ", "ꭰꭱꭲ"},
		{"a blank", "ann bee", "", ""},
		{"a blank at the end", "ann ", "", ""},
		{"a line end", "ann\n", "", ""},
		{"a zero byte", "ann\x00", "", ""},
		{"a quote", "o'neil", "", ""},
		{"a dollar", "$1ab", "", ""},
		{"a letter that is not seen", "ann\u3164", "", ""},
		{"a joiner", "ann\u200d", "", ""},
		{"the other direction", "ann\u202e", "", ""},
		{"an emoji", "ann😀", "", ""},
		{"not UTF-8", "ann\xff", "", ""},
		{"one character of 18 letters", "ﷺ", "", ""}, // there are blanks among them
		{"too many bytes", strings.Repeat("a", 513), "", ""},
		{"very many bytes", strings.Repeat("a\u0301", 32<<10), "", ""},
	} {
		got, err := account.ParseName(tt.in)
		if tt.shown == "" {
			if !errors.Is(err, account.ErrBadName) {
				t.Errorf("%s: %q became %q, %v", tt.name, tt.in, got, err)
			}
			continue
		}
		if err != nil || got != (account.Name{Shown: tt.shown, Key: tt.key}) {
			t.Errorf("%s: %q became %q, %v", tt.name, tt.in, got, err)
		}
	}
}

// A name that was accepted stays as it is, and so does its key's own key.
func checkName(t *testing.T, in string) {
	n, err := account.ParseName(in)
	if err != nil {
		return
	}
	if runes := utf8.RuneCountInString(n.Shown); runes < 3 || runes > 32 || account.CheckText(n.Shown, n.Key) != nil {
		t.Errorf("%q became %q", in, n)
	}
	if again, err := account.ParseName(n.Shown); err != nil || again != n {
		t.Errorf("%q became %q, and then %q, %v", in, n, again, err)
	}
	for _, other := range []string{strings.ToUpper(n.Shown), strings.ToLower(n.Shown), strings.ToTitle(n.Shown), n.Key} {
		// Some letters get longer or get marks of their own when their case changes.
		if o, err := account.ParseName(other); err == nil && o.Key != n.Key && !oddCase(n.Shown) {
			t.Errorf("%q and %q have the keys %q and %q", n.Shown, other, n.Key, o.Key)
		}
	}
}

// oddCase reports whether a name has the dotted or the dotless i, whose case is another one in Turkish and
// which folding so leaves alone.
func oddCase(s string) bool { return strings.ContainsAny(s, "İı") }

func TestNamesAreStable(t *testing.T) {
	step := rune(1)
	switch {
	case testing.Short():
		step = 61
	case !promise.Full():
		step = 7
	}
	for r := rune(0); r <= utf8.MaxRune; r += step {
		if utf8.ValidRune(r) {
			checkName(t, "ab"+string(r)+"c")
		}
	}
	rng := chance.Rand(t, 0xacc)
	for range promise.Tier(5000, 20_000, 1_000_000) {
		b := make([]rune, 1+rng.IntN(12))
		for i := range b {
			b[i] = rune(rng.IntN([]int{0x80, 0x300, 0x600, 0x2000, 0x11000, utf8.MaxRune}[rng.IntN(6)]))
		}
		checkName(t, string(b))
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"ann", "Straße", "E\u0301va", "ﬁx", "İrem", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(checkName)
}

// Nobody speaks as the server does: 15.13.
func TestTheNameOfTheServerIsReserved(t *testing.T) {
	for _, name := range []string{
		"server", "Server", "SERVER", "ｓｅｒｖｅｒ", "ＳＥＲＶＥＲ", "s-e-r-v-e-r", "_server_", "--server", "sérvér", "s\u0323e\u0301rver",
		"ѕerver", "sеrvеr", "ѕеrvеr", "serνer", "serѵer", "seгver", "SERѴER", "s3rv3r", "5erver", "ꜱᴇʀᴠᴇʀ", "ꓢꓰꓣꓦꓰꓣ", "ᏚᎬᏒᏙᎬᏒ", "𝐬𝐞𝐫𝐯𝐞𝐫", "𝓢𝓮𝓻𝓿𝓮𝓻", "ˢᵉʳᵛᵉʳ",
		"ſerver", "ser\u200bver", "server\u2060", "se\u00adrver", "server\ufe0f", "\u202eserver", "ser\u3164ver", "server ", " server", "serⅴer", "ѕεгνεг", "șerver", "Ｓerver",
		"se\u200drver", "\u200dserver", "server\u200c", "s\u034ferver", "ser\u180ever", "se\u115frver", "server\uffa0", "ser\U000e0100ver", "serv\U000e0061er", "server\u2065",
		"ser\u2800ver", "server\U0001d159", "ser\u17b4ver",
		"guest-1", "Guest-007", "ＧＵＥＳＴ－１２", "guest-", "gu\u200dest-1", "guest-1\ufe0f", "guest\u2060-7", "\u3164guest-3",
	} {
		if !account.Reserved(name) {
			t.Errorf("%q (%+q) is free", name, name)
		}
	}
	for _, name := range []string{"", "serve", "servers", "observer", "server1", "ann", "severe", "Sever", "王小明", "Сергей", "Жанна", "verser", "save", "guest", "guest-1a", "guests-1", strings.Repeat("-", 600)} {
		if account.Reserved(name) {
			t.Errorf("%q is reserved", name)
		}
	}
}

// Names that look the same are the same: 15.13.
func TestNamesThatLookTheSameHaveOneKey(t *testing.T) {
	for _, name := range []string{
		"ann", "Ann", "an\u200dn", "\u200dann", "ann\u200d", "an\u200cn", "an\u200bn", "ann\ufeff", "an\u2060n", "a\u00adnn", "ann\ufe0f", "an\U000e0100n", "ann\U000e0061",
		"an\u034fn", "an\u3164n", "ann\uffa0", "\u115fann", "an\u180en", "an\u2065n", "an\u2800n", "\u202eann", "a\u061cnn", "ann\U000e0fff",
		" ann", "ann\u00a0", "\u200d ann", "ann \u200d",
	} {
		if key := account.NameKey(name); key != "ann" {
			t.Errorf("%+q has the key %+q", name, key)
		}
	}
	for _, pair := range [][2]string{
		{"ann bee", "ann\u00a0bee"}, {"ann bee", "ann \u200d bee"}, {"E\u200d\u0301va", "Éva"}, {"👩\u200d👧", "👩👧"}, {"❤\ufe0f", "❤"},
	} {
		if a, b := account.NameKey(pair[0]), account.NameKey(pair[1]); a != b {
			t.Errorf("%+q and %+q have the keys %+q and %+q", pair[0], pair[1], a, b)
		}
	}
	for _, name := range []string{"", " ", "\u200d", "\u3164\u200b", "\u2800", "\ufe0f \u2060"} {
		if key := account.NameKey(name); key != "" {
			t.Errorf("%+q, of which nothing is seen, has the key %+q", name, key)
		}
	}
	for _, pair := range [][2]string{{"ann", "anne"}, {"ann bee", "annbee"}, {"ann", "an-n"}, {"ann", "añn"}} {
		if account.NameKey(pair[0]) == account.NameKey(pair[1]) {
			t.Errorf("%q and %q are the same", pair[0], pair[1])
		}
	}
}

// No name has an @, in whichever form of it: a log-in's name is account@room.
func TestNoNameHasAnAt(t *testing.T) {
	ats := 0
	for r := range unicode.MaxRune + 1 {
		if strings.Contains(norm.NFKC.String(string(r)), "@") {
			ats++
			if _, err := account.ParseName("ann" + string(r) + "cave"); err == nil {
				t.Errorf("a name may have %+q", r)
			}
		}
	}
	if ats < 3 {
		t.Errorf("only %d of them were found", ats)
	}
}
