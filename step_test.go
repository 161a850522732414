package parley_test

import (
	"errors"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/test/field"
	"parley/world"
)

// 15.12: the methods that wait for the hub say so when Step or Terrain calls them, who would wait for themselves.
func TestTheGameCannotWaitForItsServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	g := arena.Game()
	step, terrain := g.Step, g.Terrain
	started := make(chan *parley.Server, 1)
	var server *parley.Server
	tried := make(chan error, 128)
	try := func() {
		_, err := server.Players()
		_, err2 := server.Rooms()
		for _, err := range []error{err, err2, server.Kick("main", 1, "no"), server.Broadcast("", "no"), server.Open(parley.Room{Name: "a"}), server.CloseRoom("a")} {
			select {
			case tried <- err:
			default:
			}
		}
	}
	g.Step = func(w *world.World, in []world.Input) {
		if server == nil {
			server = patient.Value(started)
		}
		if w.Tick() < 10 {
			try()
		}
		step(w, in)
	}
	g.Terrain = func(seed uint64, bx, by int16, cells *world.Cells) {
		if server != nil && by == 99 {
			try()
		}
		terrain(seed, bx, by, cells)
	}
	s := field.Serve(t, g, field.Replica())
	started <- s.Server
	v := s.Audience(t)
	refused := func(n int, where string) {
		t.Helper()
		for range n {
			select {
			case err := <-tried:
				if !errors.Is(err, parley.ErrInStep) {
					t.Errorf("in %s the error is %v", where, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s waits for itself", where)
			}
		}
	}
	refused(60, "Step")
	// Terrain, which is made while a tick is told.
	if !v.Wait(field.Patience) {
		t.Fatalf("a player is kept out: %s", v.Ended())
	}
	for len(tried) > 0 {
		patient.Value(tried)
	}
	if err := v.Explore(t.Context(), world.ChunkPlace{BY: 99}); err != nil {
		t.Fatal(err)
	}
	refused(6, "Terrain")
	v.Leave()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Players(); !errors.Is(err, parley.ErrClosed) || !errors.Is(s.Kick("main", 1, ""), parley.ErrClosed) || !errors.Is(s.Broadcast("", "x"), parley.ErrClosed) {
		t.Error("a game that has ended has players")
	}
}

// A game may end itself.
func TestStepMayClose(t *testing.T) {
	g := arena.Game()
	step := g.Step
	started := make(chan *parley.Server, 1)
	closed := make(chan error, 1)
	g.Step = func(w *world.World, in []world.Input) {
		if w.Tick() == 3 {
			closed <- (patient.Value(started)).Close()
		}
		step(w, in)
	}
	s := field.Serve(t, g, field.Replica())
	started <- s.Server
	s.Audience(t)
	if err := patient.Value(closed); !errors.Is(err, parley.ErrInStep) {
		t.Errorf("the error is %v", err)
	}
	patient.Value(s.Done())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
