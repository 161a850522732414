package gateway

import (
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/internal/promise"
	"parley/play/picture"
	"parley/simnet"
	"parley/world"
)

// A server is killed, and started again with the same world and other players: its ticks may have come further than those that the client knows, and
// the numbers of entities are given anew. Nothing of before is drawn, over each dialect, once the player is in again.
func TestNoGhostsOfAServerBefore(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	path := simnet.Profile{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .02}
	for _, d := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(d, func(t *testing.T) {
			if d == "realm" {
				path.Loss = 0 // a steer that comes too late is another test's
			}
			for _, seed := range chance.Seeds(promise.Tier(1, 10, 50)) {
				for _, older := range []time.Duration{0, 8 * time.Second} { // the next server's ticks have come further, or not as far
					v := newViewer(t, d, seed, path, 9, picture.Config{Name: "1"})
					v.play(t, 8*time.Second, 0)
					v.Lost(v.net.Now())
					v = newViewerOf(t, v.Core, d, seed, path, 3, picture.Config{}, older, v.net.Elapsed()+time.Second)
					v.noGhosts(t, older)
				}
			}
		})
	}
}

// noGhosts plays, and looks whether all that is drawn is there.
func (v *viewer) noGhosts(t *testing.T, older time.Duration) {
	t.Helper()
	seed, most, ghosts := v.net.Seed(), 0, map[world.ID]int{}
	var look func()
	look = func() {
		f, n := v.Frame(v.net.Now()), 0
		for id := range world.All[arena.Player](f.World()) {
			n++
			_, was := v.truth[uint64(f.Tick)][uint16(id)]
			_, is := v.truth[v.hub.Sim().Tick()-1][uint16(id)]
			if !was && !is && id != f.Own() { // which one that is, is told last
				ghosts[id]++
			}
		}
		most = max(most, n)
		v.net.After(time.Second/60, "look", look)
	}
	look()
	v.play(t, time.Second, 6*time.Second)
	v.own = uint16(v.Frame(v.net.Now()).Own())
	for i := range v.figures.atTicks {
		v.figures.atTicks[i].wire = v.own
	}
	off, own := v.errors(v.figures.others), v.errors(v.figures.atTicks)
	if len(ghosts) > 0 || most < 2 {
		t.Errorf("seed=%d, %v later: at most %d are drawn, and of these are not there, in so many frames: %v", seed, older, most, ghosts)
	}
	if p95 := quantileOf(off, .95); len(off) < 20 && older > 0 || p95 > 3 {
		t.Errorf("seed=%d, %v later: others are %.2f cells off, p95 of %d", seed, older, p95, len(off))
	}
	if p95 := quantileOf(own, .95); len(own) < 80 || p95 > 1 {
		t.Errorf("seed=%d, %v later: the own body is %.2f cells off, p95 of %d", seed, older, p95, len(own))
	}
}
