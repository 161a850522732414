package nodes

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"parley"
	"parley/arena"
	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/world"
)

// impure is the arena with a Step that depends on more than the world: with odd, the first player is pushed about.
func impure(odd *atomic.Bool) world.Game {
	g := arena.Game()
	step := g.Step
	g.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		if !odd.Load() {
			return
		}
		for p := range w.Players() {
			if id, own := world.Avatar[arena.Player](w, p.ID); own != nil {
				w.Place(id, own.X+0.125, own.Y)
				return
			}
		}
	}
	return g
}

// A server whose world is not what the log says writes both states and the difference by field, and goes on. The third time in a minute the room ends there:
// the server stays up and is not ready, its player goes on at the other, and nobody has the room begin there again.
func TestAServerThatComputesOtherwise(t *testing.T) {
	url := clustertest.NATS(t)
	var never, odd atomic.Bool
	data := t.TempDir()
	a := nodeFor(t, url, impure(&never)).serve(t)
	ann := join(t, "ann", a.url("replica"))
	patient.Until(t, "ann is there", func() bool { _, _, ok := ann.look(); return ok })
	b := nodeFor(t, url, impure(&odd)).serve(t, func(c *parley.Config) { c.DataDir = data })
	bob := join(t, "bob", b.url("replica")+","+a.url("replica"))
	patient.Until(t, "both see each other", func() bool { ann.look(); bob.look(); return len(ann.seen) == 2 && len(bob.seen) == 2 })
	patient.Until(t, "the other server makes the entries", func() bool { return a.node.Stats().Sequences == 1 })

	odd.Store(true)
	patient.Until(t, "the world differs", func() bool { bob.look(); return b.node.Stats().Diverged >= 1 })
	odd.Store(false)
	var dirs []string
	patient.Until(t, "the difference is written", func() bool {
		bob.look()
		dirs, _ = filepath.Glob(filepath.Join(data, "desync", "main-*", "difference.txt"))
		return len(dirs) > 0
	})
	text, err := os.ReadFile(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	found := false
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) == 5 && strings.EqualFold(w[0], "player") && strings.EqualFold(w[2], "x") && w[3] != w[4] {
			found = true
		}
	}
	if !found {
		t.Error("the field that differs is not named")
	}
	for _, name := range []string{"here.snapshot", "there.snapshot"} {
		if f, err := os.Stat(filepath.Join(filepath.Dir(dirs[0]), name)); err != nil || f.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	odd.Store(true)
	patient.Until(t, "bob is at the other server", func() bool { bob.look(); return isAt(t, a, "bob") })
	patient.Until(t, "the server says why", func() bool {
		err := b.Trouble()
		return err != nil && strings.Contains(err.Error(), "room main was stopped on this server")
	})
	select {
	case <-b.Done():
		t.Fatal("the server has ended")
	default:
	}
	eve := join(t, "eve", b.url("replica")+","+a.url("replica"))
	patient.Until(t, "eve is at the other server too", func() bool { eve.look(); return isAt(t, a, "eve") })
	if n := b.WorldStats().Rooms; n != 0 || b.node.Stats().Rooms != 0 {
		t.Errorf("the server runs %d rooms", n)
	}
	if a.Trouble() != nil || a.node.Stats().Diverged > 0 {
		t.Errorf("the other server: %v", a.Trouble())
	}
}
