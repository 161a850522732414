package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"parley/play/bots"
)

// TestMain lets the test binary be a child, as the program itself is.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		serveRequests(roles[role]())
		return
	}
	os.Exit(m.Run())
}

func TestTheCommandLineSaysWhatIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   string
		works  string
		rounds int
		bad    bool
	}{
		{name: "everything by default", works: "W1 W2 W3 W4 W5 W6", rounds: 3},
		{name: "quick has one round", args: "-quick", works: "W1 W2 W3 W4 W5 W6", rounds: 1},
		{name: "quick with as many rounds as asked for", args: "-quick -repeat 5", works: "W1 W2 W3 W4 W5 W6", rounds: 5},
		{name: "some works, in their order", args: "-work W4,W2", works: "W4 W2", rounds: 3},
		{name: "a work that there is not", args: "-work W7", bad: true},
		{name: "no round", args: "-repeat -1", bad: true},
		{name: "an argument", args: "W1", bad: true},
		{name: "an unknown flag", args: "-fast", bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parseOptions(strings.Fields(tt.args))
			if tt.bad {
				if err == nil {
					t.Fatalf("%q was taken", tt.args)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, w := range o.works {
				names = append(names, w.name)
			}
			if got := strings.Join(names, " "); got != tt.works || o.rounds != tt.rounds {
				t.Errorf("got %q and %d rounds, want %q and %d", got, o.rounds, tt.works, tt.rounds)
			}
		})
	}
}

func TestPeersAreChosenByPartsOfTheirNames(t *testing.T) {
	o, err := parseOptions([]string{"-work", "W2", "-peers", "replica, tcp"})
	if err != nil {
		t.Fatal(err)
	}
	list, about := o.chosen()
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	if want := []string{"replica ordered", "tcp", "tcp buffered"}; !slices.Equal(names, want) || len(about) != len(want) {
		t.Errorf("got %q and %d descriptions, want %q", names, len(about), want)
	}
}

func TestEveryRoundHasEveryPeerInTurn(t *testing.T) {
	o := &options{rounds: 2}
	w := work{name: "W", cases: []string{"a", "b"}, takes: func(p Peer) bool { return p.Name != "not me" }}
	var got []string
	for _, x := range o.plan(w, []Peer{{Name: "p"}, {Name: "not me"}, {Name: "q"}}) {
		got = append(got, string(rune('0'+x.round))+x.kase+x.peer.Name)
	}
	if want := "1ap 1aq 1bp 1bq 2ap 2aq 2bp 2bq"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each peer has what the works that it takes part in need.
func TestEachPeerCanDoWhatItSays(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range peers {
		if seen[p.Name] || p.Name == "" || p.Settings == "" {
			t.Errorf("%q: its name or its settings are missing, or it is there twice", p.Name)
		}
		seen[p.Name] = true
		takes := false
		for _, w := range works {
			takes = takes || w.takes(p)
		}
		if !takes {
			t.Errorf("%s takes part in nothing", p.Name)
		}
		if p.Program != nil {
			if p.Missing == nil {
				t.Errorf("%s is a program of its own and does not say when it is missing", p.Name)
			}
			continue
		}
		for _, x := range []struct {
			work  work
			ready bool
		}{
			{echoWork, p.Listen != nil && p.Dial != nil},
			{rushWork, p.Listen != nil && p.Dial != nil},
			{crowdWork, p.Listen != nil && (p.Dial != nil || p.Join != nil)},
			{roomWork, p.Room != nil && p.Room.Listen != nil && p.Room.Join != nil},
			{feelWork, slices.Contains(bots.Dialects, p.Feel)},
			{narrowWork, slices.Contains(bots.Dialects, p.Narrow)},
		} {
			if x.work.takes(p) && !x.ready {
				t.Errorf("%s takes part in %s and lacks a function", p.Name, x.work.name)
			}
		}
	}
	for _, name := range []string{"udp batched", "udp gathered", "udp batched down"} {
		if !seen[name] {
			t.Errorf("there is no floor %q", name)
		}
	}
}
