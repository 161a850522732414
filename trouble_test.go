package parley_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"parley"
	"parley/account"
	"parley/account/storetest"
	"parley/arena"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

// brokenStore fails while it is told to.
type brokenStore struct {
	account.Store
	down *atomic.Bool
}

func (s brokenStore) Find(ctx context.Context, key string) (account.Record, error) {
	if s.down.Load() {
		return account.Record{}, errors.New("failed to connect:\n\thost db: no route")
	}
	return s.Store.Find(ctx, key)
}

// A store of accounts that is down is said, in one line, until it is back. The game goes on meanwhile.
func TestTroubleWithAccounts(t *testing.T) {
	var down atomic.Bool
	log := make(lines, 100)
	c := field.Config()
	c.Accounts = func(dir string) (account.Store, error) {
		store, err := storetest.OpenMemory(dir)
		return brokenStore{store, &down}, err
	}
	c.Log = logTo(log)
	s := field.Serve(t, arena.Game(), c)
	enter := func() (*field.Visitor, error) {
		return field.Visit(t.Context(), "realm", s.At["realm"], bots.Config{Schema: s.Schema, Plain: true, Name: "ann", Password: "correct horse"})
	}
	if err := s.Trouble(); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	if v, err := enter(); err == nil {
		v.Leave()
		t.Error("somebody logs in without accounts")
	}
	if err := s.Trouble(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "account: the store fails to read") || !strings.Contains(err.Error(), "host db: no route") {
		t.Errorf("the trouble is %v", err)
	}
	wantLine(t, log, "the store of accounts fails")
	field.Enter(t, "relay", s.At["relay"], bots.Config{Schema: s.Schema})
	down.Store(false)
	s.Within(t, "the store is back", func() bool {
		if v, err := enter(); err == nil {
			v.Leave()
		}
		return s.Trouble() == nil
	})
}

// A room that spins is given up and said, and the others go on.
func TestTroubleWithARoom(t *testing.T) {
	var free atomic.Bool
	g := arena.Game()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if w.Mode() == "spin" && w.Tick() > 5 {
			for !free.Load() { // it spins
			}
			return
		}
		step(w, in)
	}
	s := field.Serve(t, g, field.Replica())
	defer free.Store(true)
	if err := s.Open(parley.Room{Name: "spinner", Mode: "spin"}); err != nil {
		t.Fatal(err)
	}
	other := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema})
	v, err := field.Visit(t.Context(), "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: "spinner"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Leave()
	if why := v.Gone(); !strings.Contains(why, "its game failed") {
		t.Errorf("its player was told %q", why)
	}
	if err := s.Trouble(); err == nil || !strings.Contains(err.Error(), "room spinner does not end its step") {
		t.Errorf("the trouble is %v", err)
	}
	if err := other.Say(t.Context(), "still here"); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "the main room goes on", func() bool { return other.Heard("still here") })
}

// A disk that cannot be written is said, and it is said no more when it is well again.
func TestTroubleWithTheDisk(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Replica()
	c.Keep, c.DataDir = parley.KeepSecond, t.TempDir()
	s := field.Serve(t, arena.Game(), c)
	v := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema})
	rooms, away := filepath.Join(c.DataDir, "rooms"), filepath.Join(c.DataDir, "away")
	if err := os.Rename(rooms, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", rooms); err != nil { // so that it is not made anew
		t.Fatal(err)
	}
	s.Within(t, "it is said", func() bool { return s.Trouble() != nil })
	if err := s.Trouble(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `room "main" is not being written: its players go on`) {
		t.Errorf("the trouble is %v", err)
	}
	if st := s.Stats().Keep; st.InTrouble != 1 {
		t.Errorf("the counters are %+v", st)
	}
	if err := v.Say(t.Context(), "still here"); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "the game goes on", func() bool { return v.Heard("still here") })
	if err := os.Remove(rooms); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "it is well again", func() bool { return s.Trouble() == nil })
}
