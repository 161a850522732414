package admission

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

func TestSeenRemembersForFourToEightSeconds(t *testing.T) {
	s := NewSeen(testKey)
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{
		{0, true},
		{seenLife - 1, true},
		{2*seenLife - 2, true}, // each look renews it
		{5 * seenLife, false},
		{5*seenLife + 1, true},
		{100 * seenLife, false},
	} {
		if tt.after == 0 {
			s.Mark(start, peer(1))
		}
		if got := s.Mark(at(tt.after), peer(1)); got != tt.want {
			t.Errorf("after %v: got %v, want %v", tt.after, got, tt.want)
		}
	}
	if s.Mark(at(100*seenLife), peer(2)) {
		t.Error("a stranger is known")
	}
	if !s.Mark(at(100*seenLife), addrPort("[::ffff:10.0.0.2]:1000")) {
		t.Error("IPv4 inside IPv6 is a stranger")
	}
}

// However many come, an address is remembered until seenMax others have come, and few are
// mistaken for known ones.
func TestSeenWithManyStrangers(t *testing.T) {
	if chance.Race {
		t.Skip("one goroutine")
	}
	s := NewSeen(testKey)
	mistaken := 0
	const n = 3 * seenMax
	rng := rand.New(rand.NewPCG(1, 1))
	ask := 0
	for i := range n {
		if s.Mark(start, peer(i)) {
			mistaken++
		}
		if i >= seenMax/2 && rng.IntN(100) == 0 {
			ask++
			if !s.Mark(start, peer(i-rng.IntN(seenMax/2))) {
				t.Fatalf("stranger %d: one of the last %d is forgotten", i, seenMax/2)
			}
		}
	}
	if ask < n/200 {
		t.Errorf("asked only %d times", ask)
	}
	if mistaken > n/20 {
		t.Errorf("%d of %d strangers were mistaken for known ones", mistaken, n)
	}
	t.Logf("%d of %d strangers were mistaken for known ones", mistaken, n)
	if got := s.Mark(start, peer(1)); got {
		t.Error("the oldest of 786,432 is still known")
	}
}
