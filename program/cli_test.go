package program

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestUsageMistakesAreOneSentenceAndStatus2(t *testing.T) {
	var names []string
	for _, cmd := range ours().newRoot().Commands() {
		names = append(names, cmd.Name())
	}
	names = append(names, "help")
	slices.Sort(names)
	commands := "; the commands are " + sentenceList(names, "and")
	for _, tt := range []struct{ line, want string }{
		{"server", `unknown command "server"` + commands},
		{"serve --port 4000", `unknown flag: --port; see "parley serve --help"`},
		{"serve now", `"parley serve" takes no arguments; leave out "now"`},
		{"decod", `unknown command "decod"` + commands},
		{"--bogus", `unknown flag: --bogus; see "parley --help"`},
		{"version --bogus", `unknown flag: --bogus; see "parley version --help"`},
		{"version now", `"parley version" takes no arguments; leave out "now"`},
		{"help nosuch", `no help for "nosuch"; "parley help" lists the commands`},
		{"help version now", `no help for "version now"; "parley help" lists the commands`},
		{"completion", `name one shell: bash, zsh, fish or powershell`},
		{"completion bash zsh", `name one shell: bash, zsh, fish or powershell`},
		{"completion tcsh", `no completion for shell "tcsh"; name bash, zsh, fish or powershell`},
		{"decode", `--dialect is missing; the built-in dialects are: toy and duo`},
		{"decode --dialect", `flag needs an argument: --dialect; see "parley decode --help"`},
		{"decode --dialect Toy --from client 00", `no dialect named "Toy" is built in; the built-in dialects are: toy and duo`},
		{"decode --dialect toy 00", `--from is missing; say who sent the packets, client or server`},
		{"decode --dialect toy --from me 00", `--from must be client or server, not "me"`},
		{"decode --dialect toy --from client --channel main 00", `the dialect toy has one channel only; leave out --channel`},
		{"encode --dialect duo --from client --channel side", `--channel must be main or feed for the dialect duo, not "side"`},
	} {
		t.Run(tt.line, func(t *testing.T) {
			parley("", tt.line).want(t, result{2, "", "parley: " + tt.want + "\n"})
		})
	}
}

func TestWithoutDialectsTheSentenceSaysSo(t *testing.T) {
	got := runWith(nil, strings.NewReader(""), []string{"decode", "--dialect", "replica"})
	got.want(t, result{2, "", "parley: no dialect named \"replica\" is built in; the built-in dialects are: none yet\n"})
}

// With nil, cobra would read the arguments of the program that runs it.
func TestNilArgumentsAreNoArguments(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = []string{"game", "nosuch"}
	if got := runWith(nil, strings.NewReader(""), nil); got.status != exitOK || !strings.Contains(got.out, "Usage:") {
		t.Errorf("got %+v", got)
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"", []string{"one world, five dialects", "Examples:\n  parley serve", "decode ", "Dialects built in: toy and duo."}},
		{"--help", []string{"one world, five dialects"}},
		{"help", []string{"one world, five dialects"}},
		{"help decode", []string{"parley decode --dialect", "0x", `{"error": "..."}`, "Examples:", "--channel"}},
		{"decode --help", []string{"parley decode --dialect"}},
		{"help encode", []string{"parley encode --dialect", "Examples:"}},
		{"help version", []string{"parley version --json"}},
		{"help completion", []string{"source <(parley completion bash)"}},
		{"help help", []string{"parley help decode"}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			got := parley("", tt.line)
			if got.status != exitOK || got.err != "" {
				t.Errorf("status %d, standard error %q", got.status, got.err)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("%q is missing from\n%s", want, got.out)
				}
			}
		})
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	root := ours().newRoot()
	if len(root.Commands()) == 0 {
		t.Fatal("no commands")
	}
	for _, cmd := range append(root.Commands(), root, ours().newHelp()) {
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example or no short text", cmd.Name())
		}
	}
}

// A terminal of 80 columns shows every line of help whole.
func TestHelpFitsATerminal(t *testing.T) {
	var look func(cmd *cobra.Command, line string)
	look = func(cmd *cobra.Command, line string) {
		for text := range strings.Lines(parley("", line+" --help").out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(text, "\n")); n > helpColumns {
				t.Errorf("%s: %d columns: %s", line, n, text)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub, line+" "+sub.Name())
		}
	}
	look(ours(toys...).newRoot(), "")
}

func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "__start_parley", "zsh": "#compdef parley", "fish": "complete -c parley", "powershell": "Register-ArgumentCompleter",
	} {
		got := parley("", "completion "+shell)
		if got.status != exitOK || !strings.Contains(got.out, want) {
			t.Errorf("%s: status %d, standard error %q, and %q should be in %d bytes", shell, got.status, got.err, want, len(got.out))
		}
	}
}

// The scripts ask the hidden command __complete, so that is what is tested.
func TestCompletionOfFlagValues(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"decode", "--dialect", ""}, []string{"toy", "duo"}},
		{[]string{"decode", "--from", ""}, []string{"client", "server"}},
		{[]string{"encode", "--dialect", "duo", "--channel", ""}, []string{"main", "feed"}},
		{[]string{"encode", "--channel", ""}, nil},
		{[]string{"completion", ""}, shells},
		{[]string{"serve", "--keep", ""}, []string{"off", "second", "tick"}},
		{[]string{"serve", "--main-accounts", ""}, []string{"on", "off"}},
		{[]string{"serve", "--relay-lobby", ""}, []string{"open", "connector"}},
		{[]string{"serve", "--log-level", ""}, []string{"debug", "warn"}},
		{[]string{"join", "--realm-profile", ""}, []string{"plain", "miko"}},
		{[]string{"join", ""}, []string{"replica", "realm"}},
		{[]string{"help", "ver"}, []string{"version\tShow the version of this build"}},
		{[]string{"help", "version", ""}, nil},
	} {
		got := runWith(toys, strings.NewReader(""), append([]string{"__complete"}, tt.args...))
		lines := strings.Split(got.out, "\n")
		end := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, ":") })
		if end < 0 {
			t.Errorf("%q gives %q", tt.args, got.out)
			continue
		}
		for _, want := range tt.want {
			if !slices.Contains(lines[:end], want) {
				t.Errorf("%q gives %q, without %q", tt.args, lines[:end], want)
			}
		}
		if len(tt.want) == 0 && end != 0 {
			t.Errorf("%q gives %q, want nothing", tt.args, lines[:end])
		}
	}
}

func TestVersion(t *testing.T) {
	text := parley("", "version")
	if text.status != exitOK || !strings.HasPrefix(text.out, "parley ") || strings.Count(text.out, "\n") != 1 {
		t.Errorf("got %+v", text)
	}
	if flag := parley("", "--version"); flag != text {
		t.Errorf("--version gives %+v, version %+v", flag, text)
	}
	var b build
	asJSON := parley("", "version --json")
	if err := json.Unmarshal([]byte(asJSON.out), &b); err != nil || b.Version == "" || b.Go == "" || b.OS == "" || b.Arch == "" {
		t.Errorf("got %+v, %v", asJSON, err)
	}
	b.name = "parley"
	if want := fmt.Sprintln(b); text.out != want {
		t.Errorf("the text is %q, the JSON says %q", text.out, want)
	}
}

func TestBuildOf(t *testing.T) {
	stamped := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a stamped build", stamped, "parley v1.2.3 commit 0123456789ab with changes GO OS/ARCH"},
		{"a build without a version", &debug.BuildInfo{}, "parley (unknown) GO OS/ARCH"},
		{"a build without information", nil, "parley (unknown) GO OS/ARCH"},
	} {
		b := buildOf("parley", tt.info)
		b.Go, b.OS, b.Arch = "GO", "OS", "ARCH"
		if got := b.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if b := buildOf("parley", stamped); b.Time != "2026-01-02T03:04:05Z" || b.Commit != "0123456789abcdef0123" {
		t.Errorf("got %+v", b)
	}
}

// checkCodecs says what is wrong with a list of codecs.
func checkCodecs(codecs []codec) error {
	seen := map[string]bool{}
	for _, c := range codecs {
		switch {
		case c.Name == "" || strings.ToLower(c.Name) != c.Name:
			return fmt.Errorf("codec %q: a name is in lower case", c.Name)
		case seen[c.Name]:
			return fmt.Errorf("codec %q is listed twice", c.Name)
		case c.Decode == nil || c.Encode == nil:
			return fmt.Errorf("codec %q works one way only", c.Name)
		case len(c.Channels) == 1:
			return fmt.Errorf("codec %q: one channel needs no name", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

func TestBuiltInCodecsAreWhole(t *testing.T) {
	if err := checkCodecs(builtIn()); err != nil {
		t.Error(err)
	}
	toy := toys[0]
	for _, bad := range [][]codec{
		{{Name: "", Decode: toy.Decode, Encode: toy.Encode}},
		{{Name: "Toy", Decode: toy.Decode, Encode: toy.Encode}},
		{toy, toy},
		{{Name: "half", Decode: toy.Decode}},
		{{Name: "half", Encode: toy.Encode}},
		{{Name: "one", Channels: []string{"main"}, Decode: toy.Decode, Encode: toy.Encode}},
	} {
		if checkCodecs(bad) == nil {
			t.Errorf("%v passes", bad)
		}
	}
	if err := checkCodecs(toys); err != nil {
		t.Error(err)
	}
}

func TestSide(t *testing.T) {
	for side, want := range map[side]string{0: "unset", sideClient: "client", sideServer: "server", 3: "unset"} {
		if got := side.String(); got != want {
			t.Errorf("Side(%d) is %q, want %q", uint8(side), got, want)
		}
	}
}
