package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/world"
)

// pawnVersion is the game of tests in a version that computes otherwise than others.
func pawnVersion(version string) world.Game {
	g := pawnGame()
	step := g.Step
	g.Version = version
	g.Step = func(w *world.World, inputs []world.Input) {
		for range len(version) {
			w.Random().Uint64()
		}
		step(w, inputs)
	}
	return g
}

// mute has a server not say which version it runs.
func (f *fleet) mute(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes[i].answers, versionTopic)
}

// add adds a node, whose server does not run yet.
func (f *fleet) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, &storeNode{store: f.store, id: uint64(len(f.nodes) + 1), answers: map[string]func(context.Context, []byte) []byte{}})
}

// Two versions of the game never run the same entries, even if a server did not hear that another runs rooms: the stage that is not of the log's version ends,
// and its players are sent to the others.
func TestAnotherVersionThatWasNotHeard(t *testing.T) {
	ends := func(f *fleet, i int) {
		f.until("its stage ends", func() (ended bool) {
			f.do(i, func() { ended = f.hubs[i].rooms[MainRoom] == nil })
			return ended
		})
		if err := f.hubs[i].Degraded(); err == nil || !errors.Is(err, world.ErrOtherGame) || !strings.Contains(err.Error(), "room main was stopped") {
			t.Errorf("the server says %v", err)
		}
	}
	runs := func(f *fleet, i int) {
		from := uint64(0)
		f.quiet(i, func(r *Room, _ *shared) { from = r.sim.Tick() })
		f.until("it goes on", func() (on bool) {
			f.quiet(i, func(r *Room, _ *shared) { on = r.sim.Tick() > from+10 })
			return on
		})
		if err := f.hubs[i].Degraded(); err != nil {
			t.Error(err)
		}
	}
	t.Run("the newcomer follows", func(t *testing.T) {
		f := newFleet(t, 1, Config{Game: pawnVersion("1")})
		f.add()
		f.mute(0)
		f.cfg.Game = pawnVersion("two")
		f.begins()
		ends(f, 1)
		runs(f, 0)
	})
	t.Run("the newcomer makes the entries", func(t *testing.T) {
		f := newFleet(t, 1, Config{Game: pawnVersion("1")})
		f.add()
		f.mute(0)
		f.deafen(0, true)
		f.cfg.Game = pawnVersion("two")
		f.begins()
		f.until("it makes the entries", func() (yes bool) {
			f.quiet(1, func(_ *Room, x *shared) { yes = x.sequences() })
			return yes
		})
		f.deafen(0, false)
		ends(f, 0)
		runs(f, 1)
	})
	t.Run("it is heard", func(t *testing.T) {
		f := newFleet(t, 1, Config{Game: pawnVersion("1")})
		f.add()
		cfg := f.cfg
		cfg.Game = pawnVersion("two")
		cfg.Cluster = NewNodes(f.nodes[1])
		if _, err := New(cfg); !errors.Is(err, ErrOtherVersion) {
			t.Errorf("a server of another version begins: %v", err)
		}
		cfg.Game = pawnVersion("1")
		if _, err := New(cfg); err != nil {
			t.Error(err)
		}
	})
}
