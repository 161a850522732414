package gateway

import (
	"testing"
	"time"

	"parley/internal/pace"
)

// Only narrow paths count: on another nothing is limited, and it would spoil the means.
func TestThePathsOfPlayersAreAddedUp(t *testing.T) {
	var sum PathStats
	var none pace.Estimate // of a player who was not told anything yet
	for _, e := range []pace.Estimate{
		none, {Budget: pace.Unlimited}, {Rate: 12_500, Queue: 20 * time.Millisecond, Budget: 600}, {Rate: 4000, Queue: time.Millisecond},
	} {
		sum.add(&e)
	}
	if want := (PathStats{Narrow: 2, Estimate: 16_500, Budget: 600, Queue: 21 * time.Millisecond}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}
