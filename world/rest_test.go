package world

import (
	"testing"
)

// A Sim that rests now and then, whoever is there, does what one does that never rests: the same answers, entries, hashes and snapshots.
func TestARestChangesNothing(t *testing.T) {
	r := newRand(t)
	rests := 0
	for range rounds(400, 4000) {
		seed := r.Uint64()
		c := newTroupe(t, seed)
		other := newSimOf(t, c.game, c.sims[0].Config().again())
		other.Keep(troupeNode, 1)
		c.sims = append(c.sims, other)
		for range 60 {
			c.tick()
			if r.IntN(4) == 0 {
				other.Rest()
				checkWorld(t, other)
				rests++
			}
		}
		c.wantSame("one that rested", other, c.sims[0])
		loaded := c.load(other.AppendSnapshot(nil))
		loaded.Rest()
		c.wantSame("one that was loaded and rested", loaded, c.sims[0])
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d rests", rests)
}

// What views tell is the same too, with and without views while it rests. Numbers may be others.
func TestARestIsNotSeen(t *testing.T) {
	r := newRand(t)
	for range rounds(100, 1000) {
		seed := r.Uint64()
		var sims [2]*Sim
		var views [2]*View
		for i := range sims {
			sims[i] = newSim(t, Config{Seed: seed, ReuseTicks: 10})
		}
		p := PlayerID(0)
		for range 200 {
			rest, view, come := r.IntN(8) == 0, r.IntN(10), r.IntN(10) == 0
			angle, copied, looks := r.Float32(), r.IntN(2) == 0, r.IntN(3) > 0
			var told [2]uint64
			for i, s := range sims {
				switch {
				case come && p == 0:
					join(t, s, "a")
				case come:
					s.Leave(p)
				case p != 0:
					s.Steer(p, s.Tick(), steer(angle, 1), 0)
					s.Act(p, s.Tick(), s.Schema().ActionNamed("sow"), sowing(float64(angle), 0), 0)
				}
				s.Advance()
				if rest && i == 1 {
					s.Rest()
				}
				switch {
				case view == 0 && views[i] == nil:
					views[i] = s.NewView(0, ViewConfig{Radius: -1, Reliable: true, Copy: copied})
				case view == 1 && views[i] != nil:
					views[i].Close()
					views[i] = nil
				}
				if v := views[i]; v != nil && looks {
					v.Update()
					for c := v.Next(); c != nil; c = v.Next() {
						told[i] = hash(hash(told[i], uint64(c.What)), uint64(c.ID)^c.Mask)
						v.Take(10)
					}
				}
			}
			if come {
				p = sims[0].lastPlayer - p
			}
			checkWorld(t, sims[1])
			if told[0] != told[1] || sims[0].World().Hash() != sims[1].World().Hash() {
				t.Fatalf("seed %d, tick %d", seed, sims[0].Tick())
			}
		}
	}
}
