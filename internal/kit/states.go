package kit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"parley/internal/pagetest"
	"parley/internal/promise"
)

// Role is a table of a dialect's page: what comes of each message, by the state of the end that gets it.
type Role struct {
	Heading  string   // of the table
	Messages []string // its rows
	States   []string // its columns
	Stage    func(t testing.TB) Stage
}

// Stage is one end of a connection, which a test brings into a state and gives messages.
type Stage interface {
	// Begin brings a new end into a state.
	Begin(state string)
	State() string
	// Give delivers a row's message and says what came of it, in the words of the page.
	Give(message int) string
}

// Walker is a stage for walks.
type Walker interface {
	Stage
	// Untold reports, in the midst of a walk, that what the table says does not come of a message here.
	Untold(message int, said string) bool
	// Between lets the program do what it may between two steps of a walk, and reports whether the walk goes on.
	Between(rng *rand.Rand) bool
}

// at begins in a state.
func (r *Role) at(t testing.TB, s Stage, state string) {
	t.Helper()
	if s.Begin(state); s.State() != state {
		t.Fatalf("%s: the stage is %s, want %s", r.Heading, s.State(), state)
	}
}

// States is T26: every message in every state has the outcome that the page says. With PARLEY_PRINT_STATES it prints what
// the code does, as a table for the page.
func States(t *testing.T, part, page string, roles ...Role) {
	promise.Keeps(t, "T26", part, 1)
	for _, r := range roles {
		want := r.table(t, page)
		var print strings.Builder
		for i, m := range r.Messages {
			fmt.Fprintf(&print, "| %s |", m)
			for _, state := range r.States {
				s := r.Stage(t)
				r.at(t, s, state)
				got := s.Give(i)
				fmt.Fprintf(&print, " %s |", got)
				if got != want[state][i] {
					t.Errorf("%s, %s in %s:\n%s, and the page says\n%s", r.Heading, m, state, got, want[state][i])
				}
			}
			print.WriteString("\n")
		}
		if os.Getenv("PARLEY_PRINT_STATES") != "" {
			t.Logf("%s\n\n| message | %s |\n|%s\n%s", r.Heading, strings.Join(r.States, " | "), strings.Repeat(" --- |", len(r.States)+1), &print)
		}
	}
}

// table reads the table of the page: by state, the outcome of each message.
func (r *Role) table(t *testing.T, page string) map[string][]string {
	t.Helper()
	rows := pagetest.Tables(t, page)[r.Heading]
	if len(rows) != len(r.Messages) {
		t.Fatalf("%s: %d rows, and there are %d messages", r.Heading, len(rows), len(r.Messages))
	}
	want := map[string][]string{}
	for i, row := range rows {
		if row["message"] != r.Messages[i] || len(row) != len(r.States)+1 {
			t.Fatalf("%s: row %d is %q with %d columns, want %q with %d", r.Heading, i+1, row["message"], len(row), r.Messages[i], len(r.States)+1)
		}
		for _, state := range r.States {
			cell, ok := row[state]
			if !ok {
				t.Fatalf("%s: no column %q", r.Heading, state)
			}
			want[state] = append(want[state], cell)
		}
	}
	return want
}

// Walks is T26 too: so many random walks of 4 to 19 messages for each role, on all cores. Each step has the outcome that the page says.
func Walks(t *testing.T, part, page string, walks int, roles ...Role) {
	for _, r := range roles {
		want := r.table(t, page)
		var mu sync.Mutex
		all := map[string]int{}
		Spread(t, promise.Keeps(t, "T26", part, walks), func(rng *rand.Rand, walks int) {
			seen, s := map[string]int{}, r.Stage(t).(Walker)
			for range walks {
				r.at(t, s, r.States[rng.IntN(len(r.States))])
				if err := r.walk(rng, s, want, seen); err != nil {
					t.Error(err)
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for state, n := range seen {
				all[state] += n
			}
		})
		for _, state := range r.States {
			if all[state] == 0 && walks > 1000 {
				t.Errorf("%s: no walk was at one that is %s", r.Heading, state)
			}
		}
		t.Logf("%s: steps of %d walks by state: %v", r.Heading, walks, all)
	}
}

// walk gives a stage random messages, one after the other, for as long as the table says what comes of them.
func (r *Role) walk(rng *rand.Rand, s Walker, want map[string][]string, seen map[string]int) error {
	var path [19]int
	length := 4 + rng.IntN(16)
	for steps := 0; steps < length; {
		state, m := s.State(), rng.IntN(len(r.Messages))
		w := want[state][m]
		if strings.HasPrefix(w, "clos") && !strings.HasPrefix(state, "clos") && rng.IntN(8) > 0 || s.Untold(m, w) {
			continue // of what ends it, or hardly a walk would get far
		}
		seen[state]++
		path[steps] = m
		steps++
		if got := s.Give(m); got != w {
			var names []string
			for _, m := range path[:steps] {
				names = append(names, r.Messages[m])
			}
			return fmt.Errorf("%s, %s: %s, and the page says %s\nafter %q", r.Heading, state, got, w, names)
		}
		if !s.Between(rng) {
			return nil
		}
	}
	return nil
}
