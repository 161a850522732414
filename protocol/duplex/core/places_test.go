package core

import (
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// 15.12: however many were given their ids and join at once, in any order, as many are in as there is room for, and every
// other is told REFUSED. CONN_INIT_REP keeps no place: as many as ask are given ids.
func TestNobodyEntersBeyondThePlaces(t *testing.T) {
	rng := kit.Rand(t)
	for range kit.Rounds(2000, 20_000) {
		most := 1 + rng.IntN(8)
		r := newRoom(t, Config{MaxPlayers: most})
		var all []*guest
		for range 2 * most {
			g := r.open("10.0.0.2")
			if g.say(CodeConnInit); g.e.State() != StateJoining {
				t.Fatalf("one that asks is %v", g.e.State())
			}
			all = append(all, g)
			r.now = r.now.Add(time.Duration(rng.IntN(50)) * time.Millisecond)
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, g := range all {
			g.say([]byte{CodeConnOK, CodeConnFailed}[rng.IntN(2)])
			if in := g.e.State() == StateOpen; in != (i < most) || r.mux.joined != min(i+1, most) {
				t.Fatalf("number %d to join of %d is %v; %d are in", i, most, g.e.State(), r.mux.joined)
			}
			if i >= most && (g.e.State() != StateClosing || g.e.closing.close.Reason != ReasonRefused) {
				t.Fatalf("number %d to join of %d is %v: %v", i, most, g.e.State(), g.e.closing.close)
			}
			if rng.IntN(2) == 0 {
				r.drain()
			}
		}
		r.drain()
		if r.mux.Len() != most || r.mux.stats.Refused != uint64(most) || r.mux.porch.Len() != 0 {
			t.Fatalf("%d are in of %d, %d were refused", r.mux.Len(), most, r.mux.stats.Refused)
		}
		// Who leaves makes room for one.
		r.mux.HandleEnd(r.now, all[0].Conn, "")
		r.drain()
		g := r.open("10.0.0.2")
		g.say(CodeConnInit)
		if g.say(CodeConnOK); g.e.State() != StateOpen {
			t.Fatalf("a place is free, and one that joins is %v", g.e.State())
		}
	}
}

// T31: ten times as many as there are places ask and never join: the next honest one gets in, 100 of 100.
func TestWhoNeverJoinsKeepsNobodyOut(t *testing.T) {
	r := newRoom(t, Config{MaxPlayers: 100})
	var idle []*guest
	for range 1000 {
		g := r.open("10.0.0.3")
		g.say(CodeConnInit)
		idle = append(idle, g)
	}
	for i := range promise.Keeps(t, "T31", "duplex", 100) {
		if g := r.join("10.0.0.2"); g.e.State() != StateOpen {
			t.Fatalf("honest player %d is %v", i, g.e.State())
		}
	}
	for _, g := range idle {
		if g.say(CodeConnFailed); g.e.State() == StateOpen {
			t.Fatal("one is in beyond the places")
		}
		r.drain()
	}
	if r.mux.joined != 100 {
		t.Errorf("%d are in", r.mux.joined)
	}
}
