package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/world"
)

// factLines writes facts so that they can be compared.
func factLines(list []world.Fact) (lines []string) {
	for _, f := range list {
		line := fmt.Sprintf("%d.%d %v %d %s %s", f.Tick, f.Index, f.Kind, f.Player, f.Name, f.Text)
		if shot, ok := world.As[fire](&f); ok {
			line += fmt.Sprint(" ", shot.Angle)
		}
		lines = append(lines, line)
	}
	return lines
}

// readAgain runs a folder again, and returns the facts and where runs began.
func readAgain(t *testing.T, s *Shelf, dir string, from, upTo uint64) (lines []string, begins []uint64) {
	t.Helper()
	err := s.Again(dir, game(), from, func(sim *world.Sim, fresh bool) bool {
		if fresh {
			begins = append(begins, sim.Final())
		} else {
			lines = append(lines, factLines(sim.Facts())...)
		}
		return sim.Tick() < upTo
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, begins
}

// since returns the lines of ticks from one on.
func since(lines []string, tick uint64) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		var at uint64
		fmt.Sscan(line[:strings.Index(line, ".")], &at)
		return at < tick
	})
}

// The log of a room has all its facts again, over restarts, from any of its snapshots. A log that is to go back has them, however often the
// server starts. A room that has ended with a result stays, with its facts.
func TestAgainHasAllFacts(t *testing.T) {
	seed := chance.Seed(t, 33)
	dir := t.TempDir()
	c := Config{Dir: dir, Mode: Tick, Behind: 25e9}
	var live []string
	var p *table
	for start := range 6 {
		s := must(Open(c))
		if p == nil {
			p = newTable(t, seed, s, "main")
		} else {
			p.resume(s)
		}
		p.sim.Watch(true)
		for range 40 {
			p.tick()
			live = append(live, factLines(p.sim.Facts())...)
		}
		last := start == 5
		if last {
			p.sim.End([]byte("over"))
			p.room.Append(p.sim.Tick(), p.sim.Seal(1<<50, 0))
			p.sim.Advance()
			live = append(live, factLines(p.sim.Facts())...)
		}
		patient.Until(t, "all is on disk", func() bool { return p.room.Synced() == p.sim.Tick() })
		for _, from := range []uint64{0, 50, p.sim.Tick()} {
			got, begins := readAgain(t, s, s.Dir("main"), from, p.sim.Tick())
			if len(begins) != 1 || from == 0 && begins[0] != 0 {
				t.Fatalf("start %d: it begins at %v", start, begins)
			}
			if want := since(live, begins[0]); !slices.Equal(got, want) {
				t.Fatalf("start %d: %d facts from %d on, want %d", start, len(got), begins[0], len(want))
			}
		}
		if last {
			p.room.EndWith([]byte(`a result`))
			patient.Value(p.room.Gone())
		}
		closeShelf(t, s)
	}
	s := must(Open(c))
	defer closeShelf(t, s)
	list := s.Ended()
	if len(list) != 1 || list[0].Room != "main" || string(list[0].Result) != "a result" || len(s.Rooms()) != 0 {
		t.Fatalf("%+v, %v", list, s.Rooms())
	}
	got, _ := readAgain(t, s, list[0].Dir, 0, 1<<60)
	if !slices.Equal(got, live) || !strings.HasSuffix(got[len(got)-1], "ended 0  over") {
		t.Errorf("%d facts, want %d; the last is %q", len(got), len(live), got[len(got)-1])
	}
}

// Where entries are missing, the facts go on from the next snapshot, and the reader sees that.
func TestAgainOverAHole(t *testing.T) {
	dir := t.TempDir()
	s := must(Open(Config{Dir: dir, Mode: Tick}))
	defer closeShelf(t, s)
	p := newTable(t, chance.Seed(t, 34), s, "main")
	p.play(10)
	p.snapshot()
	patient.Until(t, "the snapshot", func() bool { return s.Stats().Snapshots == 2 })
	p.play(10)
	first := filepath.Join(s.Dir("main"), tickName(logPrefix, 0))
	b := must(os.ReadFile(first))
	if err := os.WriteFile(first, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	_, begins := readAgain(t, s, s.Dir("main"), 0, p.sim.Tick())
	if len(begins) != 2 || begins[0] != 0 || begins[1] != 6 {
		t.Errorf("it begins at %v", begins)
	}
	if err := s.Again(filepath.Join(dir, "nowhere"), game(), 0, nil); err == nil {
		t.Error("a folder that is not there")
	}
	other := game()
	other.Version = "two"
	if err := s.Again(s.Dir("main"), other, 0, nil); err == nil || !strings.Contains(err.Error(), "this version") {
		t.Errorf("another version of the game: %v", err)
	}
}

// Of rooms that have ended the newest stay. Folders that are none of them are left alone.
func TestTheNewestEndedRoomsStay(t *testing.T) {
	dir := t.TempDir()
	for i := range maxEnded + 3 {
		name := filepath.Join(dir, roomsDir, fmt.Sprintf("r%s%d-5", endedInfix, 1000+i))
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, resultName), appendSettings(nil, fmt.Append(nil, i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"r.ended-9-9", "x y.ended-3-3", "r.ended-", "r.ended-z", "r.removed.ended-1"}
	for _, name := range others {
		if err := os.MkdirAll(filepath.Join(dir, roomsDir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := must(Open(Config{Dir: dir, Mode: Second}))
	defer closeShelf(t, s)
	list := s.Ended()
	if len(list) != maxEnded || string(list[0].Result) != "3" || string(list[maxEnded-1].Result) != fmt.Sprint(maxEnded+2) {
		t.Errorf("%d: %s to %s", len(list), list[0].Result, list[len(list)-1].Result)
	}
	dirs := must(os.ReadDir(filepath.Join(dir, roomsDir)))
	if len(dirs) != maxEnded+len(others) {
		t.Errorf("%d folders", len(dirs))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
