package duplex

import (
	"testing"
	"time"

	"parley/internal/promise"
)

// Of those who come at once as many are let in as there is room for, in the order in which they asked, and who was
// let in is not refused later. A place that was kept for one that leaves goes to the next.
func TestPlacesAreKeptForWhoJoins(t *testing.T) {
	rng := newRand(t)
	for range rounds(2000, 20_000) {
		most := 1 + rng.IntN(8)
		r := newRoom(t, Config{MaxPlayers: most})
		var let []*guest
		for i := range 2 * most {
			g := r.open("10.0.0.2")
			g.say(CodeConnInit)
			if in := g.State() == StateJoining; in != (i < most) {
				t.Fatalf("number %d of %d is %v", i, most, g.State())
			}
			if i < most {
				let = append(let, g)
			}
			r.now = r.now.Add(time.Duration(rng.IntN(50)) * time.Millisecond)
		}
		rng.Shuffle(most, func(i, j int) { let[i], let[j] = let[j], let[i] })
		for i, g := range let {
			g.say([]byte{CodeConnOK, CodeConnFailed}[rng.IntN(2)])
			if g.State() != StateOpen || r.mux.joined() != i+1 || r.mux.pending.places != most-i-1 {
				t.Fatalf("number %d to join of %d is %v; %d are in, %d places are kept", i, most, g.State(), r.mux.joined(), r.mux.pending.places)
			}
			r.drain()
		}
	}
}

// T31: who asks for all places and never joins keeps others out for placeTime at most; then who joins first is in, and
// there are never more than may be.
func TestPlacesAreNotKeptForWhoNeverJoins(t *testing.T) {
	promise.Keeps(t, "T31", "duplex", 1)
	for _, tt := range []struct {
		name string
		wait time.Duration
		do   func(r *room, idle []*guest)
		in   bool
	}{
		{"for a moment they are", placeTime, func(*room, []*guest) {}, false},
		{"longer than that they are not", placeTime + 1, func(*room, []*guest) {}, true},
		{"one that left gives its place back", 0, func(r *room, idle []*guest) { r.mux.HandleEnd(r.now, idle[3].Conn, "") }, true},
		{"and who comes again and again keeps nobody out", 0, func(r *room, idle []*guest) {
			for i := range idle {
				r.mux.HandleEnd(r.now, idle[i].Conn, "")
				r.drain()
				idle[i] = r.open("10.0.0.3")
				idle[i].say(CodeConnInit)
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, Config{MaxPlayers: 10})
			var idle []*guest
			for range 10 {
				g := r.open("10.0.0.3")
				g.say(CodeConnInit)
				idle = append(idle, g)
			}
			r.now = r.now.Add(tt.wait)
			tt.do(r, idle)
			r.drain()
			for range 9 { // one of the idle ones will have a place too
				g := r.open("10.0.0.2")
				g.say(CodeConnInit)
				if in := g.State() == StateJoining; in != tt.in {
					t.Fatalf("an honest one is %v", g.State())
				}
				if g.say(CodeConnFailed); g.Joined() != tt.in {
					t.Fatalf("an honest one is %v", g.State())
				}
				r.drain()
			}
			for i, g := range idle {
				g.say(CodeConnFailed)
				if r.drain(); tt.in && i > 3 && r.mux.joined() != 10 || r.mux.joined() > 10 {
					t.Fatalf("%d are in", r.mux.joined())
				}
			}
		})
	}
}
