package gateway

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pace"
)

// Only narrow paths count: on another nothing is limited, and it would spoil the means.
func TestThePathsOfPlayersAreAddedUp(t *testing.T) {
	var sum PathStats
	var none pace.Estimate // of a player who was not told anything yet
	for _, e := range []pace.Estimate{
		none, {Queue: time.Millisecond, Budget: pace.Unlimited}, {Rate: 12_500, Queue: 20 * time.Millisecond, Budget: 600}, {Rate: 4000, Queue: time.Millisecond},
	} {
		sum.add(&e)
	}
	if want := (PathStats{Narrow: 2, Estimate: 16_500, Budget: 600, Queue: 21 * time.Millisecond}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

// "What was decided is in the player's stats and metrics (budget, estimate, queue)", and it is about what the link is.
func TestASlowPathIsInTheStats(t *testing.T) {
	for _, tt := range []struct {
		name   string
		slow   kit.Slow
		hub    func(kit.SlowServer) *Hub
		player bool
	}{
		{"relay", slowRelay, func(s kit.SlowServer) *Hub { return s.(*slowRelayServer).hub }, true},
		{"stamp", slowStamp, func(s kit.SlowServer) *Hub { return s.(*slowStampServer).hub }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var server kit.SlowServer
			newServer := tt.slow.Server
			tt.slow.Server = func(now time.Time, seed uint64, w *kit.SlowWorld) kit.SlowServer {
				server = newServer(now, seed, w)
				return server
			}
			if _, err := tt.slow.Run(kit.Seed(t), 1, kit.SlowPath{Rate: 100_000, For: 6 * time.Second}); err != nil {
				t.Fatal(err)
			}
			h := tt.hub(server)
			h.look()
			stats := h.Stats()
			got := *stats.Paths.of(tt.name)
			if got.Narrow != 1 || got.Estimate < 12_500/2 || got.Estimate > 12_500*2 || got.Budget > 4096 || got.Queue > 200*time.Millisecond {
				t.Errorf("a path of 12,500 bytes a second: %+v", got)
			}
			for _, p := range h.main.Players() {
				if e := p.Path(); e.Rate != got.Estimate || int64(e.Budget) != got.Budget || e.Queue != got.Queue {
					t.Errorf("the player's is %+v, the sum is %+v", e, got)
				}
			}
			if n := len(h.main.Players()); (n == 1) != tt.player {
				t.Errorf("%d players", n)
			}
		})
	}
}
