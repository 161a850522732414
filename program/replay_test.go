package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/keep"
	"parley/world"
)

// keptLog plays the arena, and returns a snapshot of its middle, the log before it and the log from there on, up to the room's end.
func keptLog(t *testing.T) (snapshot, before, log []byte) {
	t.Helper()
	sim, err := world.New(arena.Game(), world.Config{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	sim.Keep(1, 1)
	p, err := sim.Join("ann")
	if err != nil {
		t.Fatal(err)
	}
	before = sim.AppendHead(nil)
	log = sim.AppendHead(nil)
	for i := range int64(30) {
		sim.Steer(p, sim.Tick(), world.Steering{Angle: 1, HasAngle: true, Norm: 1, HasNorm: true}, 0)
		if i == 29 {
			sim.End([]byte("ann wins"))
		}
		if block := sim.Seal(i, 0); i < 15 {
			before = append(before, block...)
		} else {
			log = append(log, block...)
		}
		if sim.Advance(); i == 14 {
			snapshot = sim.AppendSnapshot(nil)
		}
	}
	return snapshot, before, log
}

// record plays the arena, with a Step that change has had its hands on, and
// returns the recording.
func record(t *testing.T, change func(*world.Game)) []byte {
	t.Helper()
	g := arena.Game()
	change(&g)
	sim, err := world.New(g, world.Config{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := sim.Record(&file); err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann")
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		sim.Steer(p, sim.Tick(), world.Steering{Angle: 1, HasAngle: true, Norm: 1, HasNorm: true}, 0)
		sim.Advance()
	}
	return file.Bytes()
}

func TestReplay(t *testing.T) {
	same := record(t, func(*world.Game) {})
	// The recorded game had a rule that this one has not: from tick 20 on a
	// player heals.
	other := record(t, func(g *world.Game) {
		step := g.Step
		g.Step = func(w *world.World, in []world.Input) {
			step(w, in)
			for _, p := range world.All[arena.Player](w) {
				if w.Tick() >= 20 {
					p.Health = 1000
				}
			}
		}
	})
	snapshot, before, log := keptLog(t)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name             string
		args             []string
		stdin            []byte
		status           int
		wantOut, wantErr string
	}{
		{"the same", []string{"replay", write("same", same)}, nil, 0, "arena, seed 3: 30 ticks and 31 inputs run again, each as recorded; hash ", ""},
		{"standard input", []string{"replay", "-"}, same, 0, "each as recorded", ""},
		{"a log", []string{"replay", write("log", before)}, nil, 0, "15 ticks and 16 inputs run again, each as recorded", ""},
		{"a snapshot and the log since then", []string{"replay", "-"}, slices.Concat(snapshot, log), 0, "15 ticks and 15 inputs run again, each as recorded; hash ", ""},
		{"the end of a room", []string{"replay", "-"}, slices.Concat(before, log), 0, "the room has ended\n", ""},
		{"a log without its snapshot", []string{"replay", write("rest", log)}, nil, 1, "", "an entry of tick 15 where that of 0 follows"},
		{"cut off", []string{"replay", write("cut", same[:len(same)-3])}, nil, 0, "the recording is cut off\nthe recording ends within tick 29", ""},
		{"another rule", []string{"replay", write("other", other)}, nil, 1, "21 ticks and 22 inputs run again, the last not as recorded",
			"parley replay: tick 20: entity t0.p1.1 (player): field health: recorded 1000, now unchanged\n"},
		{"no recording", []string{"replay", write("text", []byte("some text that is no recording"))}, nil, 1, "", "not a recording"},
		{"no file", []string{"replay", filepath.Join(dir, "nosuch")}, nil, 1, "", "no such file"},
		{"damaged", []string{"replay", write("damaged", append(bytes.Clone(same[:60]), same[61:]...))}, nil, 1, "", "damaged"},
		{"two files", []string{"replay", "a", "b"}, nil, 2, "", `"parley replay" takes one recording or folder; it was given 2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runWith(nil, bytes.NewReader(tt.stdin), tt.args)
			if got.status != tt.status || !strings.Contains(got.out, tt.wantOut) || !strings.Contains(got.err, tt.wantErr) {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		var r replayReport
		got := runWith(nil, nil, []string{"replay", "--json", filepath.Join(dir, "other")})
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.status != 1 || got.err != "" {
			t.Fatalf("%+v, %v", got, err)
		}
		want := replayDifference{Tick: 20, Part: "entity", Entity: "t0.p1.1", Kind: "player", Field: "health", Recorded: "1000", Now: "unchanged"}
		if r.Game != "arena" || r.Seed != 3 || r.Ticks != 21 || r.Difference == nil || *r.Difference != want {
			t.Errorf("%+v %+v", r, r.Difference)
		}
	})
}

// keepRoom plays the arena in a room that is kept, with a snapshot after each ten ticks, and returns the folder of the room.
func keepRoom(t *testing.T, game world.Game) (folder string) {
	t.Helper()
	data := t.TempDir()
	shelf, err := keep.Open(keep.Config{Dir: data, Mode: keep.Tick, History: true})
	if err != nil {
		t.Fatal(err)
	}
	defer patient.End().Stop()
	sim, err := world.New(game, world.Config{Seed: 3, Mode: "duel"})
	if err != nil {
		t.Fatal(err)
	}
	sim.Keep(1, 1)
	room, err := shelf.Room("main", sim, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(30) {
		sim.Steer(p, sim.Tick(), world.Steering{Angle: 1, HasAngle: true, Norm: 1, HasNorm: true}, 0)
		room.Append(sim.Tick(), sim.Seal(i, 0))
		sim.Advance()
		for room.Safe() < sim.Tick() {
			<-shelf.Notify()
		}
		if i%10 == 9 {
			room.Snapshot(sim.Tick(), sim.AppendSnapshot(nil))
			for shelf.Stats().Segments < uint64(i/10)+2 {
				runtime.Gosched()
			}
		}
	}
	if err := shelf.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(data, "rooms", "main")
}

// The folder of a room is replayed as a whole. Of its files a snapshot can be replayed alone, and the first segment; of another
// segment the error says to name the folder.
func TestReplayOfARoom(t *testing.T) {
	other := arena.Game()
	step := other.Step
	other.Step = func(w *world.World, in []world.Input) {
		step(w, in)
		if w.Tick() == 20 {
			w.Random().Uint64()
		}
	}
	folder, changed, miko := keepRoom(t, arena.Game()), keepRoom(t, other), keepRoom(t, arena.GameAt(mikoTicks))
	file := func(kind string, tick int) string { return filepath.Join(folder, fmt.Sprintf("%s-%020d", kind, tick)) }
	for _, tt := range []struct {
		name, path       string
		status           int
		wantOut, wantErr string
	}{
		{"the folder", folder, 0, "arena, seed 3: 30 ticks and 31 inputs run again, each as recorded; hash ", ""},
		{"another rule", changed, 1, "the last not as recorded", "tick 20: the world differs"},
		{"another profile", miko, 0, "30 ticks and 31 inputs run again, each as recorded", ""},
		{"a snapshot", file("snapshot", 10), 0, "0 ticks and 0 inputs run again, each as recorded; hash ", ""},
		{"the first segment", file("log", 0), 0, "ticks and", ""},
		{"a later segment", file("log", 20), 1, "", "the file is part of a room: replay the folder " + folder},
		{"the data folder", filepath.Dir(filepath.Dir(folder)), 1, "", "it is no folder of a room; name a recording, or the folder of a room, such as " + filepath.Join("parley-data", "rooms", "main")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runWith(nil, nil, []string{"replay", tt.path})
			if got.status != tt.status || !strings.Contains(got.out, tt.wantOut) || !strings.Contains(got.err, tt.wantErr) || strings.Count(got.err, "\n") > 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
	// A killed server leaves half an entry behind.
	last := file("log", 20)
	b, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{1, 9} {
		if err := os.WriteFile(last, b[:len(b)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runWith(nil, nil, []string{"replay", "--json", folder}); got.status != 0 || !strings.Contains(got.out, `"ticks":29`) || !strings.Contains(got.out, `"mode":"duel"`) {
			t.Errorf("without the last %d bytes: %+v", cut, got)
		}
	}
}
