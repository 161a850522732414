package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// recorded plays a random game and returns its recording and last hash.
func recorded(t testing.TB, g Game, seed uint64, ticks int) ([]byte, uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	s := newSimOf(t, g, Config{Seed: seed, MaxRollbackTicks: 5, ReplayBudget: 3})
	var file bytes.Buffer
	if err := s.Record(&file); err != nil {
		t.Fatal(err)
	}
	var players []PlayerID
	for range ticks {
		if len(players) < 3 {
			players = append(players, join(t, s, "né"))
		}
		if r.IntN(20) == 0 {
			s.Leave(players[0])
			players = players[1:]
		}
		for _, p := range players {
			tick := s.Tick() + r.Uint64N(3) - min(s.Tick(), r.Uint64N(6))
			switch r.IntN(5) {
			case 0:
				st := steer(r.Float32()*6, r.Float32()*1.5)
				st.HasPlace, st.X, st.Y = true, r.Float64()*40, r.Float64()*40
				s.Steer(p, tick, st, 1)
			case 1:
				s.Steer(p, tick, steer(r.Float32()*6, r.Float32()*1.5), 0)
			case 2:
				s.Act(p, tick, s.Schema().Action(0), sowing(r.Float64(), TempEntity), 0)
			case 3:
				s.Act(p, tick, s.Schema().Action(2), []Value{TextValue("hello")}, 0)
			}
		}
		s.Advance()
	}
	if s.RecordErr() != nil {
		t.Fatal(s.RecordErr())
	}
	return file.Bytes(), s.World().Hash()
}

func TestARecordingReplays(t *testing.T) {
	r := newRand(t)
	for range rounds(30, 1000) {
		seed := r.Uint64()
		file, want := recorded(t, testGame(), seed, 120)
		got, err := Replay(testGame(), bytes.NewReader(file))
		if err != nil || got.Difference != nil {
			t.Fatalf("seed %d: %v, %v", seed, err, got.Difference)
		}
		if got.Hash != want || got.Ticks != 120 || got.Seed != seed || got.Name != "test" || got.Inputs == 0 || got.CutOff || got.Stopped {
			t.Fatalf("%+v, want hash %x", got, want)
		}
	}
}

// A Step that is not the same any more is found, at its first tick, entity and
// field.
func TestADifferenceIsNamed(t *testing.T) {
	file, _ := recorded(t, testGame(), 5, 60)
	changed := func(change func(w *World)) Game {
		g := testGame()
		g.Step = func(w *World, in []Input) {
			testStep(w, in)
			if w.Tick() >= 40 {
				change(w)
			}
		}
		return g
	}
	first := func(w *World) (ID, *sprout) {
		for id, s := range All[sprout](w) {
			return id, s
		}
		return 0, nil
	}
	for _, tt := range []struct {
		name   string
		change func(w *World)
		want   string
	}{
		{"a field", func(w *World) { _, s := first(w); s.Age += 100 }, "(sprout): field age: recorded "},
		{"a float", func(w *World) { _, s := first(w); s.X += 0.25 }, "(sprout): field x: recorded unchanged, now "},
		{"a text", func(w *World) {
			for _, m := range All[mark](w) {
				m.Note = "other"
			}
		}, `(mark): field note: recorded unchanged, now "other"`},
		{"hidden state", func(w *World) {
			for _, a := range All[walker](w) {
				a.path[2]++
			}
		}, "(walker): field path[2]: recorded "},
		{"a reference", func(w *World) {
			for id, a := range All[walker](w) {
				a.Target = id
			}
		}, "(walker): field target: recorded "},
		{"one that is gone", func(w *World) { id, _ := first(w); w.Despawn(id) }, "(sprout): recorded still there, now gone"},
		{"one that has come", func(w *World) { Spawn(w, mark{}) }, "field count: recorded unchanged, now 0"},
		{"chance", func(w *World) { w.Random().Uint64() }, "tick 40: the random source differ"},
		{"terrain", func(w *World) { w.SetCell(500, 500, 3) }, "tick 40: the terrain differ"},
		{"players", func(w *World) { w.players.list[0].Entity++ }, "tick 40: the players differ"},
		{"owners", func(w *World) { id, _ := first(w); w.SetOwner(id, 999) }, "tick 40: the owners or places in the tables differ"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Replay(changed(tt.change), bytes.NewReader(file))
			if err != nil || got.Difference == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if text := got.Difference.String(); got.Difference.Tick != 40 || !strings.Contains(text, tt.want) {
				t.Errorf("%s", text)
			}
		})
	}
}

// A recording may begin at any tick: a snapshot then stands before its entries.
func TestARecordingBeginsAnywhere(t *testing.T) {
	r := newRand(t)
	for range rounds(20, 200) {
		c := newTroupe(t, r.Uint64())
		for range 1 + r.IntN(30) {
			c.tick()
		}
		var file bytes.Buffer
		if err := c.sims[0].Record(&file); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			c.tick()
		}
		got, err := Replay(endingGame(), &file)
		if err != nil || got.Difference != nil || got.Hash != c.sims[0].World().Hash() || got.Ticks != 30 || got.CutOff || got.Stopped {
			t.Fatalf("%+v %v, %v", got, got.Difference, err)
		}
	}
}

// T71: "older format versions read". The file was made by the version before, of testGame.
func TestARecordingOfVersion2Replays(t *testing.T) {
	promise.Keeps(t, "T71", "world", 1)
	file, err := os.ReadFile(filepath.Join("testdata", "version2.rec"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Replay(testGame(), bytes.NewReader(file))
	if err != nil || got.Difference != nil || got.Ticks != 30 || got.Hash != 0xf1b71482b676dbb9 || got.CutOff || got.Stopped {
		t.Fatalf("%+v %v, %v", got, got.Difference, err)
	}
	other := testGame()
	other.Step = func(w *World, in []Input) {
		testStep(w, in)
		for _, m := range All[mark](w) {
			m.Count++
		}
	}
	if got, err = Replay(other, bytes.NewReader(file)); err != nil || got.Difference == nil || got.Difference.Field != "count" {
		t.Errorf("%+v, %v", got.Difference, err)
	}
	if _, err := NewLogReader(bytes.NewReader(file)); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	if _, _, err := Load(testGame(), bytes.NewReader(file)); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}

// A recording that was cut off anywhere is replayed as far as it goes; one that
// was changed anywhere is refused or differs.
func TestDamagedRecordings(t *testing.T) {
	file, _ := recorded(t, testGame(), 6, 8)
	whole, _ := Replay(testGame(), bytes.NewReader(file))
	step := 1
	switch {
	case testing.Short() || chance.Race:
		step = 101
	case !promise.Full():
		step = 7
	}
	ticks := uint64(0)
	for n := 0; n < len(file); n += step {
		got, err := Replay(testGame(), bytes.NewReader(file[:n]))
		if err != nil && !errors.Is(err, ErrNotRecording) && !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err == nil && (got.Difference != nil || got.Ticks < ticks || got.Ticks > whole.Ticks) {
			t.Fatalf("%d bytes: %+v", n, got)
		}
		if err == nil {
			ticks = got.Ticks
		}
	}
	for n := 0; n < len(file); n += 7 * step {
		bad := bytes.Clone(file)
		bad[n] ^= 0x10
		got, err := Replay(testGame(), bytes.NewReader(bad))
		if err == nil && got.Ticks == whole.Ticks && !got.CutOff {
			t.Fatalf("byte %d changed: %+v", n, got)
		}
	}
}

func TestForeignRecordings(t *testing.T) {
	file, _ := recorded(t, testGame(), 7, 3)
	other := testGame()
	other.Name = "other"
	fields := testGame()
	fields.Kinds = Kinds(walker{}, mark{}, sprout{})
	newer := bytes.Clone(file)
	newer[len(logMagic)] = 9
	for _, tt := range []struct {
		name string
		g    Game
		file []byte
		want error
	}{
		{"another game", other, file, ErrOtherGame},
		{"other kinds", fields, file, ErrOtherGame},
		{"another version", testGame(), newer, ErrVersion},
		{"something else", testGame(), []byte("PK\x03\x04 a zip file"), ErrNotRecording},
		{"nothing", testGame(), nil, ErrNotRecording},
		{"a head alone", testGame(), file[:10], ErrDamaged},
		{"a size that lies", testGame(), slices.Insert(bytes.Clone(file), fileHeader+blockHeader+int(file[fileHeader]), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), ErrDamaged},
	} {
		if _, err := Replay(tt.g, bytes.NewReader(tt.file)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := Replay(Game{}, bytes.NewReader(file)); err == nil {
		t.Error("a game without Step replays")
	}
	broken := errors.New("broken disk")
	if _, err := Replay(testGame(), io.MultiReader(bytes.NewReader(file), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRecordingEnds(t *testing.T) {
	s := newSim(t, Config{})
	broken := errors.New("full disk")
	if err := s.Record(failing{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if s.RecordErr() != nil {
		t.Error("a recording that never began")
	}
	var few limited
	if err := s.Record(&few); err != nil {
		t.Fatal(err)
	}
	advance(s, 5)
	if s.RecordErr() == nil || few.writes != 4 {
		t.Errorf("%v after %d writes", s.RecordErr(), few.writes)
	}
	late := newSim(t, Config{})
	join(t, late, "a")
	if late.Record(io.Discard) == nil {
		t.Error("a recording without its first input")
	}
}

// limited takes three writes.
type limited struct{ writes int }

func (l *limited) Write(b []byte) (int, error) {
	if l.writes++; l.writes > 3 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// The inputs of a tick are written before it is run.
func TestAPanicIsInTheRecording(t *testing.T) {
	g := testGame()
	var file bytes.Buffer
	g.Step = func(w *World, in []Input) {
		testStep(w, in)
		for _, i := range in {
			if i.Kind == Act {
				panic("a bug of the game")
			}
		}
	}
	s := newSimOf(t, g, Config{})
	if err := s.Record(&file); err != nil {
		t.Fatal(err)
	}
	p := join(t, s, "a")
	advance(s, 4)
	s.Act(p, s.Tick(), s.Schema().Action(0), sowing(1, 0), 0)
	func() {
		defer func() { _ = recover() }()
		s.Advance()
	}()
	got, err := Replay(testGame(), bytes.NewReader(file.Bytes()))
	if err != nil || !got.Stopped || got.Ticks != 4 || got.Inputs != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzReplay(f *testing.F) {
	file, _ := recorded(f, testGame(), 8, 1)
	f.Add(file)
	f.Add(file[:len(file)/2])
	c := newTroupe(f, 9)
	for range 6 {
		c.tick()
	}
	f.Add(c.log)
	f.Add(slices.Concat(c.sims[0].AppendSnapshot(nil), c.log))
	if err := c.sims[0].Inject(say{"end"}); err != nil {
		f.Fatal(err)
	}
	c.tick()
	f.Add(slices.Concat(c.sims[0].AppendSnapshot(nil), c.log))
	c.sims[0].End([]byte("it is over"))
	f.Add(append(c.log, c.sims[0].Seal(c.due, 0)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		for _, b := range [][]byte{b, withSums(b)} {
			got, err := Replay(fuzzGame, bytes.NewReader(b))
			again, errAgain := Replay(fuzzGame, bytes.NewReader(b))
			if (err == nil) != (errAgain == nil) || got.Hash != again.Hash || got.Ticks != again.Ticks {
				t.Fatalf("%+v %v, and again %+v %v", got, err, again, errAgain)
			}
		}
	})
}

// withSums makes the sums of all blocks right, so that what is in them is read.
func withSums(b []byte) []byte {
	b = bytes.Clone(b)
	for at := len(logMagic) + 2; at+8 < len(b); {
		size := int(binary.LittleEndian.Uint32(b[at:]))
		if size > len(b)-at-8 {
			break
		}
		binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(b[at+8:at+8+size], castagnoli))
		at += 8 + size
	}
	return b
}

// What a recording or a log holds is checked even where its sums are right.
func TestForgedRecordings(t *testing.T) {
	r := newRand(t)
	file, _ := recorded(t, testGame(), 8, 6)
	old, err := os.ReadFile(filepath.Join("testdata", "version2.rec"))
	if err != nil {
		t.Fatal(err)
	}
	c := newTroupe(t, 9)
	for range 20 {
		c.tick()
	}
	files := [][]byte{file, old[:4096], c.log}
	for range rounds(6_000, 100_000) {
		bad := withSums(forge(r, files[r.IntN(len(files))]))
		if _, err := Replay(fuzzGame, bytes.NewReader(bad)); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrOtherGame) && !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
	}
}

var fuzzGame = endingGame()
