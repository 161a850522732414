package keep

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
	"parley/world"
)

// keptRoom plays a room and returns its files, and the room. It has two snapshots, at ticks 100 and 200, and ends at tick 300.
func keptRoom(t testing.TB, seed uint64) (*table, *memory) {
	t.Helper()
	h := newHouse(t, seed)
	h.mode, h.history = Tick, false
	h.start()
	p := newTable(t, seed, h.shelf, "main")
	h.settle()
	for range 300 {
		p.tick()
		h.settle()
		if p.sim.Tick()%100 == 0 && p.sim.Tick() < 300 {
			p.snapshot()
			h.settle()
		}
	}
	p.room.End(false)
	h.settle()
	return p, h.disk
}

// copy returns the same disk once more.
func (m *memory) copy() *memory {
	n := newMemory(m.r)
	n.dirs = maps.Clone(m.dirs)
	for name, i := range m.names {
		n.names[name] = &inode{data: bytes.Clone(i.data), synced: bytes.Clone(i.data)}
	}
	n.saved = maps.Clone(n.names)
	return n
}

// files returns the names in the room's folder.
func (m *memory) files() (names []string) {
	_, names, _ = m.List("/data/rooms/main")
	return names
}

func (m *memory) find(t testing.TB, prefix string, n int) *inode {
	t.Helper()
	var list []*inode
	for _, name := range m.files() {
		if strings.HasPrefix(name, prefix) {
			list = append(list, m.names["/data/rooms/main/"+name])
		}
	}
	return list[n]
}

func (m *memory) drop(prefix string, n ...int) {
	var list []string
	for _, name := range m.files() {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	for _, i := range n {
		delete(m.names, "/data/rooms/main/"+list[i])
	}
}

// loadFrom loads the room from a disk. It also returns what was logged.
func loadFrom(t testing.TB, m *memory, g world.Game) (*Shelf, *world.Sim, []byte, string, error) {
	t.Helper()
	var log bytes.Buffer
	s, err := newShelf(Config{Dir: "/data", Mode: Second, Log: slog.New(slog.NewTextHandler(&log, nil))}, m, func() time.Time { return time.Unix(1e9, 0) })
	if err != nil {
		t.Fatal(err)
	}
	s.hands = 1
	sim, settings, err := s.Load("main", g)
	return s, sim, settings, log.String(), err
}

func TestTheFilesOfARoom(t *testing.T) {
	_, disk := keptRoom(t, 5)
	want := []string{"log-00000000000000000000", "log-00000000000000000100", "log-00000000000000000200", "settings", "snapshot-00000000000000000100", "snapshot-00000000000000000200"}
	if got := disk.files(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Damaged and missing files: the room goes on at its last tick, or a bit before it, or the error says what to do.
func TestDamagedFiles(t *testing.T) {
	p, whole := keptRoom(t, 6)
	flip := func(i *inode, at int) {
		if at < 0 {
			at += len(i.data)
		}
		i.data[at] ^= 4
	}
	const l, s = logPrefix, snapshotPrefix
	for _, tt := range []struct {
		name string
		do   func(m *memory)
		tick uint64 // at which it goes on; 0 if not
		text string // in the error, or in the log
	}{
		{"nothing", func(m *memory) {}, 300, ""},
		{"a flipped bit in the newest snapshot", func(m *memory) { flip(m.find(t, s, 1), 500) }, 300, "the one before is tried"},
		{"the newest snapshot is empty", func(m *memory) { m.find(t, s, 1).data = nil }, 300, "the one before is tried"},
		{"the newest snapshot is cut off", func(m *memory) { i := m.find(t, s, 1); i.data = i.data[:len(i.data)/2] }, 300, "the one before is tried"},
		{"the newest snapshot is missing", func(m *memory) { m.drop(s, 1) }, 300, ""},
		{"the newest snapshot has another tick's name", func(m *memory) {
			m.names["/data/rooms/main/"+tickName(s, 250)] = m.find(t, s, 1)
		}, 300, "the one before is tried"},
		{"both snapshots are damaged", func(m *memory) { flip(m.find(t, s, 0), 500); flip(m.find(t, s, 1), 500) }, 0, "no sound snapshot: restore its files from a backup, or move /data/rooms/main away"},
		{"a flipped bit in the last entry", func(m *memory) { flip(m.find(t, l, 2), -3) }, 299, ""},
		{"the log is cut off in an entry", func(m *memory) { i := m.find(t, l, 2); i.data = i.data[:len(i.data)-5] }, 299, ""},
		{"zeros behind the log", func(m *memory) { i := m.find(t, l, 2); i.data = append(i.data, make([]byte, 5000)...) }, 300, ""},
		{"a flipped bit in the middle of the log", func(m *memory) { flip(m.find(t, l, 2), 300) }, 0, "run truncate -s "},
		{"a flipped bit in a log that is not read", func(m *memory) { flip(m.find(t, l, 0), 300) }, 300, ""},
		{"a flipped bit in the head of the log", func(m *memory) { flip(m.find(t, l, 2), 20) }, 0, "log-00000000000000000200"},
		{"the last segment is missing: nothing says that it was", func(m *memory) { m.drop(l, 2) }, 200, ""},
		{"all segments are missing: the snapshot is newer", func(m *memory) { m.drop(l, 0, 1, 2) }, 200, ""},
		{"a snapshot and a segment are missing", func(m *memory) { m.drop(l, 1); m.drop(s, 1) }, 0, "move the files in /data/rooms/main away that are newer than tick 100"},
		{"a segment whose snapshot has not got its name, after much that was dropped", func(m *memory) {
			m.names["/data/rooms/main/"+tickName(l, 900)] = &inode{data: p.sim.AppendHead(nil)}
		}, 300, ""},
		{"the settings are damaged", func(m *memory) { flip(m.find(t, settingsName, 0), 14) }, 300, "the settings of a room are lost"},
		{"the settings are missing", func(m *memory) { m.drop(settingsName, 0) }, 300, "the settings of a room are lost"},
		{"a snapshot of another format", func(m *memory) { m.find(t, s, 1).data[8] = 9 }, 0, "another version of the format: start the version of parley that wrote it"},
		{"other files", func(m *memory) {
			for _, name := range []string{"snapshot-1", "log-99999999999999999999", "log-0000000000000000030x", "new-log-00000000000000000300", "x"} {
				m.names["/data/rooms/main/"+name] = &inode{data: []byte("x")}
			}
		}, 300, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := whole.copy()
			tt.do(m)
			before := m.copy()
			_, sim, settings, log, err := loadFrom(t, m, game())
			if tt.tick == 0 {
				if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "/data/rooms/main") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v", err)
				}
				wantSameFiles(t, m, before)
				return
			}
			if err != nil || !strings.Contains(log, tt.text) {
				t.Fatalf("%v, log %q", err, log)
			}
			if sim.Tick() != tt.tick || sim.World().Hash() != p.hashes[tt.tick] {
				t.Errorf("tick %d, hash %x", sim.Tick(), sim.World().Hash())
			}
			if lost := strings.Contains(tt.text, "settings"); lost != (settings == nil) {
				t.Errorf("settings %q", settings)
			}
			wantSameFiles(t, m, before)
		})
	}
}

func wantSameFiles(t *testing.T, got, want *memory) {
	t.Helper()
	same := func(a, b *inode) bool { return bytes.Equal(a.data, b.data) }
	if !maps.EqualFunc(got.names, want.names, same) {
		t.Error("Load has changed files")
	}
}

// T73: any damage is found: the room has a state that it had, or Load says what is wrong. What goes on is kept anew, and can be loaded.
func TestAnyDamage(t *testing.T) {
	r := chance.Rand(t, 73)
	p, whole := keptRoom(t, 7)
	went, refused := 0, 0
	for range promise.Keeps(t, "T73", "keep", promise.Tier(100, 2000, 100_000)) {
		m := whole.copy()
		for range 1 + r.IntN(3) {
			damage(r, m)
		}
		m = m.copy() // what is damaged is so on disk, too
		was := m.copy()
		s, sim, _, log, err := loadFrom(t, m, game())
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "/data/rooms/main") && !strings.Contains(err.Error(), "never kept") {
				t.Fatalf("%v", err)
			}
			if _, err := s.Room("main", p.sim, nil); err == nil && len(s.Rooms()) > 0 {
				t.Fatal("a room that is left aside is written over")
			}
			continue
		}
		went++
		now := sim.Tick()
		if now > 300 || sim.World().Hash() != p.hashes[now] {
			t.Fatalf("tick %d, hash %x", now, sim.World().Hash())
		}
		sim.Keep(node, sim.Epoch()+1)
		again := &table{t: t, r: r, name: "main", sim: sim, hashes: slices.Clone(p.hashes[:now+1])}
		again.open(s)
		h := &house{t: t, shelf: s, disk: m}
		h.settle()
		for range 5 {
			again.tick()
			h.settle()
		}
		left := m.restart(true)
		_, sim, _, then, err := loadFrom(t, left, game())
		if err != nil || sim.Tick() < now || sim.Tick() >= uint64(len(again.hashes)) || sim.World().Hash() != again.hashes[sim.Tick()] {
			t.Fatalf("%q went on at tick %d: %s\nthen %q: %v, %s", was.files(), now, log, left.files(), err, then)
		}
	}
	t.Logf("%d went on, %d were refused", went, refused)
	if went == 0 || refused == 0 {
		t.Error("one of both is missing")
	}
}

// damage does something to one of the files of the room.
func damage(r *rand.Rand, m *memory) {
	files := m.files()
	if len(files) == 0 {
		return
	}
	pick := func() (string, *inode) {
		name := "/data/rooms/main/" + files[r.IntN(len(files))]
		return name, m.names[name]
	}
	name, i := pick()
	if len(i.data) == 0 {
		return
	}
	switch at := r.IntN(len(i.data)); r.IntN(7) {
	case 0, 1:
		i.data[at] ^= 1 << r.IntN(8)
	case 2:
		i.data = i.data[:at]
	case 3:
		clear(i.data[at:min(len(i.data), at+r.IntN(4096))])
	case 4:
		delete(m.names, name)
	case 5:
		_, other := pick()
		i.data = append(i.data[:at:at], other.data[min(at, len(other.data)):]...)
	case 6:
		_, other := pick()
		i.data, other.data = other.data, i.data
	}
}

// A room of another game, schema or version.
func TestAnotherGame(t *testing.T) {
	type other struct{ world.Body }
	_, whole := keptRoom(t, 8)
	for _, tt := range []struct {
		name   string
		change func(g *world.Game)
		text   string
	}{
		{"another name", func(g *world.Game) { g.Name = "boats" }, `another game, or with other kinds and actions ("ships"; this is "boats"): start that game with this folder, or move /data/rooms/main away`},
		{"other kinds", func(g *world.Game) { g.Kinds = world.Kinds(ship{}, other{}) }, "start that game with this folder"},
		{"another Step under the same version", func(g *world.Game) {
			g.Step = func(w *world.World, in []world.Input) { step(w, in); w.Random().IntN(2) }
		}, "Step"},
		{"a Step that panics", func(g *world.Game) { g.Step = func(*world.World, []world.Input) { panic("oh") } }, "the game panics: oh"},
		{"another version", func(g *world.Game) {
			g.Version = "two"
			g.Step = func(w *world.World, in []world.Input) { step(w, in); w.Random().IntN(2) }
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, g := whole.copy(), game()
			tt.change(&g)
			s, sim, _, _, err := loadFrom(t, m, g)
			if tt.text != "" {
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%v", err)
				}
				wantSameFiles(t, m, whole)
				return
			}
			if err != nil || sim.Tick() != 300 {
				t.Fatal(err)
			}
			// And a third version, which is started before there is a snapshot of the second.
			p := &table{t: t, r: rand.New(rand.NewPCG(1, 1)), name: "main", sim: sim, hashes: make([]uint64, 301)}
			sim.Keep(node, sim.Epoch()+1)
			p.open(s)
			h := &house{t: t, shelf: s, disk: m}
			h.settle()
			for range 5 {
				p.tick()
				h.settle()
			}
			g.Version, g.Step = "three", step
			if _, sim, _, _, err = loadFrom(t, m.restart(false), g); err != nil || sim.Tick() != 305 {
				t.Error(err)
			}
		})
	}
}

// A folder that cannot be read is said by name.
func TestUnreadableFiles(t *testing.T) {
	_, whole := keptRoom(t, 9)
	for _, op := range []string{"read", "list"} {
		m := whole.copy()
		s, err := newShelf(Config{Dir: "/data", Mode: Second}, m, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		m.fault = func(o, name string) error {
			if o == op {
				return fmt.Errorf("%s: %w", name, errors.New("input/output error"))
			}
			return nil
		}
		if _, _, err := s.Load("main", game()); err == nil || !strings.Contains(err.Error(), filepath.Join("/data", "rooms", "main")) {
			t.Errorf("%v", err)
		}
	}
}
