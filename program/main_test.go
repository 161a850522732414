package program

import (
	"strings"
	"testing"

	"parley/world"
)

// A Table is where cards lie. It is nowhere.
type Table struct{ Cards uint8 }

// Deal is an action with a parameter of each sort.
type Deal struct {
	Angle float32
	Cards int8
	Up    bool
	To    world.ID
	Word  string
}

// cards is a game of its own: without a name, a body or an action that is like one of the arena's.
func cards() *app {
	return &app{name: "cards", codecs: builtIn(), game: world.Game{
		Kinds: world.Kinds(Table{}), Actions: world.Actions(Deal{}), Step: func(*world.World, []world.Input) {},
	}}
}

func (a *app) runs(line string) result {
	var out, errOut strings.Builder
	status := a.run(strings.Fields(line), streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	return result{status, out.String(), errOut.String()}
}

// No command of another game says the arena's name, nor the program's as ours is called.
func TestTheHelpOfAnotherGameIsItsOwn(t *testing.T) {
	look := func(a *app, path string, names []string) {
		for _, name := range names {
			got := a.runs(path + name + " --help")
			if got.status != exitOK || !strings.Contains(got.out, "cards") {
				t.Errorf("%s: %+v", path+name, got)
			}
			for _, word := range []string{"arena", "throw", "ball", "miko", "parley " + strings.TrimSpace(name), `"parley `, "(parley ", "  parley "} {
				if strings.Contains(got.out, word) {
					t.Errorf("%q is in the help of %s:\n%s", word, path+name, got.out)
				}
			}
		}
	}
	a := cards()
	for _, cmd := range a.newRoot().Commands() {
		var subs []string
		for _, sub := range cmd.Commands() {
			subs = append(subs, sub.Name())
		}
		look(a, cmd.Name()+" ", subs)
		look(a, "", []string{cmd.Name()})
	}
	look(a, "", []string{""})
}

func TestTheErrorsOfAnotherGameAreItsOwn(t *testing.T) {
	for line, want := range map[string]string{
		"server":                       "cards: unknown command \"server\"",
		"help x":                       "cards: no help for \"x\"; \"cards help\" lists the commands",
		"kick main":                    "\"cards players\" lists",
		"ticket make":                  "cards: --key-file is missing; \"cards ticket key\" makes a key",
		"account list --data nosuch":   "\"cards account add\" makes the first",
		"join relay --ticket x":        "give it as \"cards ticket make\" prints it",
		"serve --realm-profile miko":   "unknown flag: --realm-profile",
		"schema --realm-profile plain": "unknown flag: --realm-profile",
	} {
		if got := cards().runs(line); got.status == exitOK || !strings.Contains(got.err, want) || strings.Contains(got.err, "parley") {
			t.Errorf("%s: %+v; want %q", line, got, want)
		}
	}
}

func TestAnotherGameShowsItself(t *testing.T) {
	if got := cards().runs("schema"); got.status != exitOK || !strings.Contains(got.out, "kind 1: table") || !strings.Contains(got.out, "deal") {
		t.Errorf("%+v", got)
	}
	if got := cards().runs("version"); !strings.HasPrefix(got.out, "cards ") {
		t.Errorf("%+v", got)
	}
	if got := cards().runs("completion bash"); !strings.Contains(got.out, "__start_cards") {
		t.Errorf("%+v", got)
	}
	if got := cards().title(); got != "the game" {
		t.Errorf("a game without a name is %q", got)
	}
}

func TestCalledAs(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"/usr/bin/flags", "serve"}, "flags"}, {[]string{"flags.exe"}, "flags"}, {[]string{"./parley"}, "parley"}, {nil, "parley"}, {[]string{""}, "parley"},
	} {
		if got := calledAs(tt.args); got != tt.want {
			t.Errorf("%q is called %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestActionsFromWords(t *testing.T) {
	schema, err := cards().game.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if actionOf(schema, "deal") == nil || actionOf(schema, "d") != nil || actionOf(schema, "de") != nil || actionOf(schema, "x") != nil {
		t.Error("d is a key, and deal is an action")
	}
	deal := schema.ActionNamed("deal")
	for _, tt := range []struct{ rest, want, fault string }{
		{"180 -3 true 9 a word", "[3.1415927 -3 true 9 \"a word\"]", ""},
		{"", "[0 0 false 0 \"\"]", ""},
		{"90 7", "[1.5707964 7 false 0 \"\"]", ""},
		{"x", "", `"x" is no angle of deal: write deal ANGLE CARDS UP TO WORD with a number of degrees, such as deal 90 1 1 1 hello`},
		{"NaN", "", "a number of degrees"},
		{"1e300", "", "a number of degrees"},
		{"0 200", "", "a whole number of type i8"},
		{"0 0 maybe", "", "true or false"},
		{"0 0 true -1", "", "the number of an entity, which who lists"},
		{"0 0 true 1 " + strings.Repeat("x", 40), "", "a text of at most 32 bytes"},
	} {
		params, err := paramsOf(deal, tt.rest)
		var texts []string
		for _, p := range params {
			texts = append(texts, p.String())
		}
		got := "[" + strings.Join(texts, " ") + "]"
		if tt.fault == "" && (err != nil || got != tt.want) {
			t.Errorf("%q: %s, %v; want %s", tt.rest, got, err, tt.want)
		}
		if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%q: %s, %v; want %q", tt.rest, got, err, tt.fault)
		}
	}
}
