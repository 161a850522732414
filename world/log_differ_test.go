package world

import (
	"strings"
	"testing"
)

// What differs between two snapshots is named by field, also if Step is what has changed: it is not run.
func TestSnapshotsThatDiffer(t *testing.T) {
	r := newRand(t)
	for range rounds(10, 100) {
		c := newTroupe(t, r.Uint64())
		for range 30 {
			c.tick()
		}
		s := c.sims[0]
		here := s.AppendSnapshot(nil)
		g := c.game
		g.Step = func(*World, []Input) { panic("the game was run") }
		if d, err := Differ(g, here, here, 10); err != nil || len(d.List) != 0 || d.Here != s.Tick() || d.There != s.Tick() {
			t.Fatalf("the same snapshot differs: %+v, %v", d, err)
		}
		other, _, err := Load(c.game, strings.NewReader(string(here)))
		if err != nil {
			t.Fatal(err)
		}
		var changed ID
		for id := range other.world.Entities() {
			if b := other.world.Body(id); b != nil {
				b.Norm += 1
				changed = id
				break
			}
		}
		if changed == 0 {
			continue
		}
		d, err := Differ(g, here, other.AppendSnapshot(nil), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.List) != 1 || d.List[0].Entity != changed || !strings.EqualFold(d.List[0].Field, "norm") || d.List[0].Here == d.List[0].There || d.List[0].Kind == "" {
			t.Errorf("%+v", d)
		}
	}
}
