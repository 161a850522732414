package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// window is how many ticks may still be rewound: of those before, a server has told the last hash.
const window = 40

// story is what all servers have told of a room: of each tick the hash before it, by the server that ran it, and what was said and done.
type story struct {
	mu      sync.Mutex
	hashes  map[uint64]map[string]string // by tick and server
	last    uint64
	checked uint64
	lives   map[string]uint64 // the newest tick that each server has told
	gone    map[string]bool   // those that have ended
	events  map[place]string  // what was said or done
	places  map[string]place
	steps   map[int]int // by player
	wrong   []string
	ticks   int // that two servers or more have told
}

// place is where the log has something.
type place struct {
	tick  uint64
	index uint32
}

func newStory() *story {
	return &story{hashes: map[uint64]map[string]string{}, lives: map[string]uint64{}, gone: map[string]bool{}, events: map[place]string{}, places: map[string]place{}, steps: map[int]int{}}
}

// tells notes a tick.
func (s *story) tells(by string, tick uint64, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.hashes[tick]
	if all == nil {
		all = map[string]string{}
		s.hashes[tick] = all
	}
	all[by] = hash
	s.last = max(s.last, tick)
	s.lives[by] = max(s.lives[by], tick)
}

// happens notes a line or a step. All servers have it at one place, and nothing is at two.
func (s *story) happens(by string, at place, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had, ok := s.events[at]; ok && had != what {
		s.wrong = append(s.wrong, fmt.Sprintf("at %v is %q, and %s has %q", at, had, by, what))
	}
	switch was, ok := s.places[what]; {
	case !ok:
		s.events[at], s.places[what] = what, at
		if row, isStep := rowOf(what); isStep {
			s.steps[row]++
		}
	case was != at:
		s.wrong = append(s.wrong, fmt.Sprintf("%q happened twice, at %v and at %v", what, was, at))
	}
}

// stepOf writes a step of a player, and rowOf reads whose it is.
func stepOf(row, nth int) string { return fmt.Sprintf("step of %d: %d", row, nth) }

func rowOf(what string) (row int, ok bool) {
	n, _ := fmt.Sscanf(what, "step of %d:", &row)
	return row, n == 1
}

// tick returns the newest that was told.
func (s *story) tick() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// told returns the newest tick that a server has told.
func (s *story) told(by string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[by]
}

// ends notes that a server has ended.
func (s *story) ends(by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[by] = true
}

// said returns the lines that were said behind a tick, up to another, which are final.
func (s *story) said(from, to uint64) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, what := range s.events {
		if _, isStep := rowOf(what); !isStep && at.tick > from && at.tick <= to {
			lines = append(lines, what)
		}
	}
	return lines
}

// has reports whether the log has what a player was told.
func (s *story) has(n *notes) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps[n.row] >= n.steps && !slices.ContainsFunc(n.lines, func(line string) bool {
		_, ok := s.places[line]
		return !ok
	})
}

// check compares all that can not change any more, and returns what is wrong: no tick is missing, and no two servers differ. One that runs again what it
// has missed may have told ticks that it is yet to rewind.
func (s *story) check() (wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong, s.wrong = s.wrong, nil
	to := s.last
	for by, tick := range s.lives {
		if !s.gone[by] {
			to = min(to, tick)
		}
	}
	for ; s.checked+window < to; s.checked++ {
		tick := s.checked
		all := maps.Clone(s.hashes[tick])
		for by := range all { // what it told last of ticks that could be rewound was not the end of it
			if s.gone[by] && tick+window > s.lives[by] {
				delete(all, by)
			}
		}
		delete(s.hashes, tick)
		values := slices.Sorted(maps.Values(all))
		switch {
		case len(values) == 0:
			wrong = append(wrong, fmt.Sprintf("nobody has told tick %d of %d", tick, s.last))
		case len(slices.Compact(values)) > 1:
			wrong = append(wrong, fmt.Sprintf("the worlds differ before tick %d: %v", tick, all))
		case len(all) > 1:
			s.ticks++
		}
	}
	return wrong
}

// The story finds what it is there for.
func TestTheStoryFindsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*story)
		want string
	}{
		{"nothing", func(*story) {}, ""},
		{"another world", func(s *story) { s.tells("b", 7, "other") }, "the worlds differ before tick 7"},
		{"another world in the end", func(s *story) { s.tells("b", 7, "other"); s.tells("b", 7, "7") }, ""},
		{"another world of one that was killed at once", func(s *story) { s.tells("c", 7, "other"); s.ends("c") }, ""},
		{"another world of one that is far behind", func(s *story) { s.tells("c", 7, "other") }, ""},
		{"a hole", func(s *story) { delete(s.hashes, 9) }, "nobody has told tick 9"},
		{"a line twice", func(s *story) { s.happens("a", place{3, 1}, "x says 1"); s.happens("a", place{4, 1}, "x says 1") }, "happened twice"},
		{"a step twice", func(s *story) { s.happens("a", place{3, 1}, stepOf(1, 1)); s.happens("b", place{3, 2}, stepOf(1, 1)) }, "happened twice"},
		{"two lines at a place", func(s *story) { s.happens("a", place{3, 1}, "x says 1"); s.happens("b", place{3, 1}, "x says 2") }, "has \"x says 2\""},
		{"the same of two", func(s *story) { s.happens("a", place{3, 1}, "x says 1"); s.happens("b", place{3, 1}, "x says 1") }, ""},
	} {
		s := newStory()
		for tick := range uint64(2 * window) {
			s.tells("a", tick, fmt.Sprint(tick))
			s.tells("b", tick, fmt.Sprint(tick))
		}
		tt.tell(s)
		if got := strings.Join(s.check(), "; "); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	s := newStory()
	s.happens("a", place{3, 1}, stepOf(5, 1))
	s.happens("a", place{3, 2}, "x says 1")
	for _, tt := range []struct {
		told notes
		want bool
	}{
		{notes{5, 1, []string{"x says 1"}}, true}, {notes{5, 2, nil}, false}, {notes{6, 1, nil}, false}, {notes{5, 1, []string{"x says 2"}}, false},
	} {
		if s.has(&tt.told) != tt.want {
			t.Errorf("it has %+v: %t", tt.told, !tt.want)
		}
	}
}
