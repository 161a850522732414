package world

import "testing"

// Nearness falls with the distance, by half at an eighth of the way to the edge of sight. What a player owns is above all of it.
func TestNearnessFallsWithTheDistance(t *testing.T) {
	for _, c := range []ViewConfig{{Radius: 112, Hysteresis: 16}, {Radius: -1}} {
		s, ids := standing(t, [2]float64{0, 0}, [2]float64{16, 0}, [2]float64{0, 64}, [2]float64{-128, 0})
		p := join(t, s, "a")
		s.Advance()
		own, _ := avatar(t, s, p)
		w := s.World()
		unit := spawn(w, makeID(w.tick, p, 1<<11|1), p, sprout{Body: Body{X: 120}})
		s.Advance()
		v := s.NewView(p, c)
		v.Update()
		for i, want := range []uint32{256, 136, 30, 19} {
			if got := v.Nearness(ids[i]); got != want {
				t.Errorf("%v: place %d: %d, want %d", c.Radius, i, got, want)
			}
		}
		for _, id := range []ID{own, unit} {
			if got := v.Nearness(id); got <= 256 {
				t.Errorf("%v: of what the player owns: %d", c.Radius, got)
			}
		}
		if got := v.Nearness(ids[3] + 99); got != leastUrgency {
			t.Errorf("of no entity: %d", got)
		}
	}
}
