package world

import (
	"bytes"
	"fmt"
	"testing"
)

// A server that has missed entries of the log goes on from a snapshot. Its clients end up with the truth, and no number is confused.
func TestRestore(t *testing.T) {
	r := newRand(t)
	for range rounds(30, 500) {
		config := Config{Seed: r.Uint64(), MaxRollbackTicks: 6, ReuseTicks: 12}
		a, b := newSim(t, config), newSim(t, config)
		a.Keep(1, 1)
		b.Keep(2, 1)
		missing := false
		run := func() {
			block := a.Seal(0, 0)
			a.Advance()
			if missing {
				return
			}
			e, err := b.ReadEntry(block)
			if err == nil {
				err = b.Apply(e)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var players []PlayerID
		var clients []*client
		for i := range 3 {
			players = append(players, join(t, a, fmt.Sprint(i)))
		}
		run()
		for i, p := range players {
			clients = append(clients, newClient(t, b.NewView(p, ViewConfig{Radius: 20 + 30*float64(i)}), r, 0.2))
		}
		for i := range 90 {
			if was := missing; i%30 == 10+r.IntN(10) || was && r.IntN(4) == 0 {
				if missing = !missing; was {
					from, _, err := Load(testGame(), bytes.NewReader(a.AppendSnapshot(nil)))
					if err != nil {
						t.Fatal(err)
					}
					b.Restore(from)
				}
			}
			for _, p := range players {
				a.Steer(p, a.Tick(), steer(r.Float32()*6, r.Float32()*1.5), 0)
				if r.IntN(3) == 0 {
					a.Act(p, a.Tick(), a.Schema().Action(r.IntN(2)), nil, 0)
					a.Act(p, a.Tick(), a.Schema().Action(0), sowing(float64(r.Float32())*6, 0), 0)
				}
			}
			if i == 50 {
				a.Leave(players[0])
			}
			run()
			if !missing && a.World().Hash() != b.World().Hash() {
				t.Fatalf("tick %d: the worlds differ", a.Tick())
			}
			for _, c := range clients {
				c.tick(b.public.now)
			}
		}
		if missing {
			continue
		}
		still := b.public.now
		for range 120 {
			still++
			for _, c := range clients {
				c.loss, c.view.updated = 0, 0
				c.tick(still)
			}
		}
		for _, c := range clients[1:] {
			c.wantSame()
			c.view.Close()
		}
	}
}

// A wish does on another server what the call does on this one.
func TestWishes(t *testing.T) {
	r := newRand(t)
	a, b := newSim(t, Config{}), newSim(t, Config{})
	p := join(t, a, "ann")
	join(t, b, "ann")
	for range 400 {
		tick, shown := a.Tick()+r.Uint64N(3), a.Tick()-min(a.Tick(), r.Uint64N(4))
		tick -= min(tick, r.Uint64N(4))
		var got, want Reason
		var wish []byte
		if r.IntN(2) == 0 {
			st := steer(r.Float32()*6, r.Float32()*2)
			st.HasPlace, st.X, st.Y = r.IntN(2) == 0, r.Float64()*40, r.Float64()*40
			want = a.SteerShown(p, tick, shown, st, 0)
			wish, got = b.AppendSteer(nil, p, tick, shown, false, st)
		} else {
			wire := a.Wire(ID(r.Uint64N(1 << 33)))
			values := sowing(r.Float64()*6, uint64(wire))
			want = a.ActShown(p, tick, shown, a.Schema().Action(0), values, 0)
			wish, got = b.AppendAct(nil, p, tick, shown, false, b.Schema().Action(0), values)
		}
		if got == Accepted {
			for n := range wish { // what is cut off is refused
				if why := b.Submit(wish[:n], 0); !why.Refused() {
					t.Fatalf("%x of %x: %v", wish[:n], wish, why)
				}
			}
			got = b.Submit(wish, 0)
		}
		if got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		if r.IntN(3) == 0 {
			a.Advance()
			b.Advance()
			if a.World().Hash() != b.World().Hash() {
				t.Fatalf("tick %d: the worlds differ", a.Tick())
			}
		}
	}
	// One that comes too late is done now if it says so, and else at its own tick or not at all.
	for range 40 {
		b.Advance()
	}
	for _, tt := range []struct {
		now  bool
		want Reason
	}{{true, Accepted}, {false, TooOld}} {
		wish, _ := b.AppendSteer(nil, p, 3, 2, tt.now, steer(1, 1))
		wantReason(t, fmt.Sprint("now ", tt.now), b.Submit(wish, 0), tt.want)
	}
}
