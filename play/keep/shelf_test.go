package keep

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/world"
)

func openShelf(t testing.TB, c Config) *Shelf {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeShelf(t, s) })
	return s
}

func closeShelf(t testing.TB, s *Shelf) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// A disk that others use may be late, which is known when it is closed. It has answered by then.
	if err := s.Close(ctx); err != nil && !errors.Is(err, errStuck) {
		t.Error(err)
	}
}

// play plays ticks, and waits until players may be told of each.
func (p *table) play(n int) {
	for range n {
		p.tick()
		patient.Until(p.t, "a safe tick", func() bool { return p.room.Safe() == p.sim.Tick() })
		p.tell()
	}
}

// A server that is closed, and one that goes on with its rooms.
func TestRoomsGoOn(t *testing.T) {
	seed := chance.Seed(t, 21)
	for _, mode := range []Mode{Second, Tick} {
		dir := t.TempDir()
		s := openShelf(t, Config{Dir: dir, Mode: mode})
		if got := s.Rooms(); len(got) != 0 {
			t.Fatalf("%v", got)
		}
		tables := []*table{newTable(t, seed, s, "main"), newTable(t, seed+1, s, "b-2"), newTable(t, seed+2, s, "gone")}
		for i := range 60 {
			for _, p := range tables {
				p.play(1)
			}
			if i%25 == 24 {
				tables[0].snapshot()
			}
		}
		tables[2].room.End(true)
		again := newTable(t, seed+3, s, "gone") // of the same name
		again.play(3)
		again.room.End(true)
		closeShelf(t, s)
		st := s.Stats()
		if st.Appended != st.Written || st.Written != 183 || st.Rooms != 0 || st.Snapshots < 4 || st.WriteFaults+st.SyncFaults+st.SnapshotFaults != 0 {
			t.Errorf("%v: %+v", mode, st)
		}

		s = openShelf(t, Config{Dir: dir, Mode: mode})
		if got := s.Rooms(); !slices.Equal(got, []string{"b-2", "main"}) {
			t.Fatalf("%v", got)
		}
		for _, p := range tables[:2] {
			if now := p.resume(s); now != 60 {
				t.Errorf("%v: %s goes on at tick %d", mode, p.name, now)
			}
			p.play(10)
		}
	}
}

// Another server on the folder is told in a sentence.
func TestTheFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := openShelf(t, Config{Dir: dir, Mode: Second})
	for _, mode := range []Mode{Off, Tick} {
		if _, err := Open(Config{Dir: dir, Mode: mode}); err == nil || !strings.Contains(err.Error(), "another server uses the folder "+dir) ||
			!strings.Contains(err.Error(), "stop that server, or name another folder") {
			t.Errorf("%v", err)
		}
	}
	closeShelf(t, s)
	s = openShelf(t, Config{Dir: dir, Mode: Off})
	closeShelf(t, s)
	if _, err := Open(Config{}); err == nil {
		t.Error("no folder")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: filepath.Join(file, "x")}); err == nil || !strings.Contains(err.Error(), "cannot be made") {
		t.Errorf("%v", err)
	}
}

// With Off nothing is written, and everything may be told.
func TestOffKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	s := openShelf(t, Config{Dir: dir})
	p := newTable(t, 1, s, "main")
	p.play(5)
	p.snapshot()
	if p.room.WantsSnapshot() || s.Trouble() != nil || s.Stats() != (Stats{Rooms: 1}) {
		t.Errorf("%+v", s.Stats())
	}
	p.room.End(true)
	if _, err := os.Stat(filepath.Join(dir, roomsDir)); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// No name leads out of the folder, and none is taken twice.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	s := openShelf(t, Config{Dir: dir, Mode: Second})
	sim, err := world.New(game(), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../a", "A", "a.removed", "é", "a\x00", "a b", strings.Repeat("a", 33), "a\n", "ä", "-/"} {
		if _, err := s.Room(name, sim, nil); err == nil || !strings.Contains(err.Error(), "is no name of a room") {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := s.Load(name, game()); err == nil || !strings.Contains(err.Error(), "is no name of a room") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Room("big", sim, make([]byte, maxSettings+1)); err == nil {
		t.Error("huge settings")
	}
	for _, name := range []string{"a", "-", "0", strings.Repeat("z", 32)} {
		if _, err := s.Room(name, sim, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.Room(name, sim, nil); err == nil || !strings.Contains(err.Error(), "is kept already") {
			t.Error(err)
		}
		if _, _, err := s.Load(name, game()); err == nil {
			t.Error("a room that is kept is loaded")
		}
	}
	if _, _, err := s.Load("other", game()); err == nil {
		t.Error("a room that never was is loaded")
	}
	closeShelf(t, s)
	if _, err := s.Room("late", sim, nil); err == nil {
		t.Error("a room after Close")
	}
	s = openShelf(t, Config{Dir: dir, Mode: Second})
	if _, err := s.Room("a", sim, nil); err == nil || !strings.Contains(err.Error(), "has the files of another room") {
		t.Errorf("a room among the files of one that was not loaded: %v", err)
	}
}

func TestModes(t *testing.T) {
	for _, m := range []Mode{Off, Second, Tick} {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("Tick"); err == nil || Mode(9).String() != "Mode(9)" {
		t.Error(err)
	}
}

// Append allocates nothing, whatever the writer does meanwhile.
func TestAppendAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	r := newHouse(t, 1)
	p := newTable(t, 1, r.shelf, "main")
	r.settle()
	entry := make([]byte, 500)
	tick := p.sim.Tick()
	round := func() {
		for range 20 {
			p.room.Append(tick, entry)
			tick++
		}
		p.room.Safe()
		p.room.WantsSnapshot()
		p.room.flush()
		r.shelf.queue.rooms = r.shelf.queue.rooms[:0]
	}
	round()
	r.disk.names[p.room.file.path].data = make([]byte, 0, 64<<20) // the disk's own memory
	if n := testing.AllocsPerRun(100, round); n > 3 {             // the synced copy of the disk in memory, and the list of files to sync
		t.Errorf("%v allocations for 20 entries", n)
	}
}

// The files of a room are a log that replays, while the room is played and after servers were stopped in the middle of an entry.
func TestARoomReplays(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, roomsDir, "main")
	s := openShelf(t, Config{Dir: dir, Mode: Second})
	p := newTable(t, 3, s, "main")
	for range 3 {
		p.play(20)
		p.snapshot()
		patient.Until(t, "the snapshot", func() bool { return s.Stats().InTrouble == 0 && !p.room.isWorking() })
		p.play(20)
		log, err := ReadLog(folder)
		if err != nil {
			t.Fatal(err)
		}
		report, err := world.Replay(game(), log)
		if err != nil || report.Difference != nil || report.Hash != p.sim.World().Hash() || report.Ticks == 0 || report.CutOff {
			t.Errorf("%+v, %v", report, err)
		}
		log.Close()
		closeShelf(t, s)
		segments, _ := filepath.Glob(filepath.Join(folder, logPrefix+"*"))
		f, err := os.OpenFile(segments[len(segments)-1], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("half of an entry"))
		f.Close()
		s = openShelf(t, Config{Dir: dir, Mode: Second})
		p.resume(s)
	}
	if _, err := ReadLog(dir); err == nil || !strings.Contains(err.Error(), "is no folder of a room") {
		t.Error(err)
	}
	if _, err := ReadLog(filepath.Join(dir, "x")); err == nil {
		t.Error("no folder")
	}
}

func (r *Room) isWorking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.working
}
