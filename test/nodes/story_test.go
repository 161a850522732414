package nodes

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
)

// window is how many ticks may still be rewound: of those before, a server has told the last hash.
const window = 40

// story is what all servers have told of a room: of each tick the hash before it, by the server that ran it, and the lines that were said.
type story struct {
	mu      sync.Mutex
	hashes  map[uint64]map[string]string // by tick and server
	last    uint64
	checked uint64
	lives   map[string]uint64 // the newest tick that each server has told
	killed  map[string]bool
	lines   map[place]string
	places  map[string]place
	wrong   []string
	ticks   int // that two servers or more have told
}

// place is where the log has a line.
type place struct {
	tick  uint64
	index uint32
}

func newStory() *story {
	return &story{hashes: map[uint64]map[string]string{}, lives: map[string]uint64{}, killed: map[string]bool{}, lines: map[place]string{}, places: map[string]place{}}
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

// says notes a line. All servers have it at one place, and no line is at two.
func (s *story) says(by string, at place, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had, ok := s.lines[at]; ok && had != text {
		s.wrong = append(s.wrong, fmt.Sprintf("the line at %v is %q, and %s has %q", at, had, by, text))
	}
	if was, ok := s.places[text]; ok && was != at {
		s.wrong = append(s.wrong, fmt.Sprintf("%q was said twice, at %v and at %v", text, was, at))
	}
	s.lines[at], s.places[text] = text, at
}

// is notes what is wrong by itself.
func (s *story) is(wrong string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, wrong)
}

func (s *story) tick() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// said returns the lines that were said behind a tick, up to another, which are final.
func (s *story) said(from, to uint64) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, text := range s.lines {
		if at.tick > from && at.tick <= to {
			lines = append(lines, text)
		}
	}
	return lines
}

// has reports whether the log has a line.
func (s *story) has(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.places[line]
	return ok
}

// check compares all that can not change any more: no tick is missing, and no two servers differ.
func (s *story) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wrong {
		t.Error(w)
	}
	s.wrong = nil
	if s.last < window {
		return
	}
	for tick := s.checked; tick < s.last-window; tick++ {
		all := maps.Clone(s.hashes[tick])
		for by := range all { // what it told last of ticks that could be rewound was not the end of it
			if s.killed[by] && tick+window > s.lives[by] {
				delete(all, by)
			}
		}
		delete(s.hashes, tick)
		values := slices.Collect(maps.Values(all))
		switch slices.Sort(values); {
		case len(values) == 0:
			t.Errorf("nobody has told tick %d of %d", tick, s.last)
		case len(slices.Compact(values)) > 1:
			t.Errorf("the worlds differ before tick %d: %v", tick, all)
		case len(all) > 1:
			s.ticks++
		}
	}
	s.checked = s.last - window
}
