package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/internal/promise"
)

// T71: every flipped bit of a snapshot is found, and every prefix.
func TestDamagedSnapshots(t *testing.T) {
	promise.Keeps(t, "T71", "world", 1)
	c := newTroupe(t, 21)
	for range 5 {
		c.tick()
	}
	file := c.sims[0].AppendSnapshot(nil)
	step := 53
	if promise.Full() {
		step = 1
	}
	for bit := 0; bit < 8*len(file); bit += step {
		bad := bytes.Clone(file)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := Load(c.game, bytes.NewReader(bad)); err == nil {
			t.Fatalf("bit %d", bit)
		}
	}
	for n := 0; n < len(file); n += step {
		_, _, err := Load(c.game, bytes.NewReader(file[:n]))
		if !errors.Is(err, ErrDamaged) && (n >= fileHeader || !errors.Is(err, ErrNotRecording)) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	for from, to := range blockBounds(file) {
		_, _, err := Load(c.game, bytes.NewReader(slices.Delete(bytes.Clone(file), from, to)))
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("without the block of kind %d: %v", file[from+blockHeader], err)
		}
	}
}

// blockBounds returns where the blocks of a file begin and end.
func blockBounds(file []byte) map[int]int {
	bounds := map[int]int{}
	for at := fileHeader; at < len(file); {
		end := at + blockHeader + int(binary.LittleEndian.Uint32(file[at:]))
		bounds[at] = end
		at = end
	}
	return bounds
}

func TestForeignSnapshots(t *testing.T) {
	c := newTroupe(t, 22)
	file := c.sims[0].AppendSnapshot(nil)
	other := c.game
	other.Name = "other"
	kinds := c.game
	kinds.Kinds = Kinds(walker{}, mark{}, sprout{})
	newer := bytes.Clone(file)
	newer[len(logMagic)] = 9
	for _, tt := range []struct {
		name string
		g    Game
		file []byte
		want error
	}{
		{"another game", other, file, ErrOtherGame},
		{"other kinds", kinds, file, ErrOtherGame},
		{"another format", c.game, newer, ErrVersion},
		{"something else", c.game, []byte("PK\x03\x04 a zip file"), ErrNotRecording},
		{"a log", c.game, c.log, ErrDamaged},
	} {
		if _, _, err := Load(tt.g, bytes.NewReader(tt.file)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// A Step that has changed under the same version is found by the ticks that are run again.
	for range 20 {
		c.tick()
	}
	same := c.game
	same.Step = func(w *World, in []Input) { c.game.Step(w, in); w.Random().Uint64() }
	_, _, err := Load(same, bytes.NewReader(c.sims[0].AppendSnapshot(nil)))
	if depth := c.sims[0].history.depth; depth > 0 && !errors.Is(err, ErrDamaged) {
		t.Errorf("a history of %d ticks: %v", depth, err)
	}
}

// A world of another version of the game goes on from its newest state. What is in the log since then is done, and not compared.
func TestAnotherVersionGoesOn(t *testing.T) {
	r := newRand(t)
	for range rounds(40, 400) {
		c := newTroupe(t, r.Uint64())
		for range 20 {
			c.tick()
		}
		s := c.sims[0]
		snapshot, hash, at := s.AppendSnapshot(nil), s.World().Hash(), s.Tick()
		for range 10 {
			c.tick()
		}
		g := c.game
		g.Version = "two"
		g.Step = func(w *World, in []Input) { c.game.Step(w, in); w.Random().Uint64() }
		got, head, err := Load(g, bytes.NewReader(snapshot))
		if err != nil || head.Version != "one" || got.World().Hash() != hash || got.Tick() != at {
			t.Fatalf("%v, %+v", err, head)
		}
		if got.Players() > 0 {
			p := PlayerID(0)
			for at := range got.World().Players() {
				p = at.ID
			}
			wantReason(t, "before", got.Steer(p, at-1, steer(1, 1), 0), TooOld)
			got, _, _ = Load(g, bytes.NewReader(snapshot))
		}
		in, err := NewLogReader(bytes.NewReader(c.log))
		for err == nil {
			var block []byte
			if block, err = in.Next(); err != nil {
				break
			}
			e, err := got.ReadEntry(block)
			if err != nil {
				t.Fatal(err)
			}
			if e.Tick < got.Tick() {
				continue
			}
			if err := got.Apply(e); err != nil {
				t.Fatalf("tick %d: %v", e.Tick, err)
			}
		}
		if got.Tick() != s.Tick() || got.Players() != s.Players() || got.World().Hash() == s.World().Hash() {
			t.Fatalf("tick %d, want %d; %d players, want %d", got.Tick(), s.Tick(), got.Players(), s.Players())
		}
		// The next entry says so, and from there on the log is of the new version.
		before := got.AppendSnapshot(nil)
		got.Keep(0, 0) // as Record does
		got.Keep(1, 2)
		block := bytes.Clone(got.Seal(c.due, 0))
		got.Advance()
		follower, _, err := Load(g, bytes.NewReader(before))
		if err != nil {
			t.Fatal(err)
		}
		e, err := follower.ReadEntry(block)
		if err != nil || len(e.Items) == 0 || e.Items[0].Kind != ItemVersion || string(e.Items[0].Text) != "two" {
			t.Fatalf("%v: %+v", err, e)
		}
		if err := follower.Apply(e); err != nil || follower.World().Hash() != got.World().Hash() {
			t.Fatal(err)
		}
		e, _ = s.ReadEntry(block)
		e.Hash = s.World().Hash()
		if err := s.Apply(e); !errors.Is(err, ErrOtherGame) {
			t.Fatalf("the version before applies it: %v", err)
		}
	}
}

// Chunks are written as runs or as they are, whichever is less, and those of both states once.
func TestChunksOfASnapshot(t *testing.T) {
	g := testGame()
	g.Step = func(w *World, in []Input) {
		switch w.Tick() {
		case 0:
			w.SetCell(1, 1, 3)
		case 1: // every cell another than its neighbour
			for i := range ChunkSide * ChunkSide {
				w.SetCell(float64(300+i%200), float64(i/200%250), uint8(1+i%7+i/3%5))
			}
		case 30:
			w.SetCell(2, 2, 3)
		}
	}
	s := newSimOf(t, g, Config{Seed: 1})
	advance(s, 2)
	early := len(s.AppendSnapshot(nil))
	advance(s, 26)
	one := len(s.AppendSnapshot(nil)) // both states have the same two chunks
	advance(s, 5)
	file := s.AppendSnapshot(nil) // the first chunk is there twice
	kinds := map[byte]int{}
	coded := map[byte]int{}
	for from, to := range blockBounds(file) {
		kinds[file[from+blockHeader]]++
		if file[from+blockHeader] == blockChunk {
			coded[file[from+blockHeader+6]]++
			if to-from > blockHeader+7+ChunkSide*ChunkSide {
				t.Errorf("a chunk of %d bytes", to-from)
			}
		}
	}
	if kinds[blockChunk] != 3 || coded[0] != 1 || coded[1] != 2 || early > one+100 {
		t.Errorf("%v, %v", kinds, coded)
	}
	got, _, err := Load(g, bytes.NewReader(file))
	if err != nil || got.World().Hash() != s.World().Hash() || !bytes.Equal(got.AppendSnapshot(nil), file) {
		t.Fatal(err)
	}
	if got.World().Cell(1, 1) != 3 || got.World().Passable(1, 1) {
		t.Error("the cell is another")
	}
	// A chunk that is not the one of the sum is found where Step does not look at it.
	for from, to := range blockBounds(file) {
		if file[from+blockHeader] == blockChunk && file[from+blockHeader+6] == 0 {
			bad := bytes.Clone(file)
			bad[to-1] ^= 1
			if _, _, err := Load(g, bytes.NewReader(withSums(bad))); !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		}
	}
}

// A loaded world is published: a view of it has all that is in it, and events that were told are not told again.
func TestALoadedWorldIsSeen(t *testing.T) {
	c := newTroupe(t, 23)
	for range 30 {
		c.tick()
	}
	s := c.load(c.sims[0].AppendSnapshot(nil))
	if len(s.Events()) != 0 || s.Stats().InputsPending != c.sims[0].Stats().InputsPending {
		t.Errorf("%d events, %+v", len(s.Events()), s.Stats())
	}
	seen := 0
	for range s.Changes() {
		seen++
	}
	if want := Count[walker](s.World()) + Count[sprout](s.World()) + Count[mark](s.World()); seen != want || want == 0 {
		t.Errorf("%d of %d are seen", seen, want)
	}
}

// What is in a snapshot is checked even where its sums are right: it is refused, or goes on, and never panics.
func TestForgedSnapshots(t *testing.T) {
	r := newRand(t)
	files := [][]byte{}
	for seed := range uint64(3) {
		c := newTroupe(t, 30+seed)
		for range 9 * int(seed) {
			c.tick()
		}
		files = append(files, c.sims[0].AppendSnapshot(nil))
	}
	n, loaded := rounds(10_000, 100_000), 0
	for range n {
		if loadForged(t, withSums(forge(r, files[r.IntN(len(files))]))) {
			loaded++
		}
	}
	t.Logf("%d of %d are loaded", loaded, n)
	if n > 100 && (loaded == 0 || loaded == n) {
		t.Error("it looks at one side only")
	}
}

// forge changes some bits of a file.
func forge(r *rand.Rand, file []byte) []byte {
	file = bytes.Clone(file)
	for range 1 + r.IntN(3) {
		file[fileHeader+r.IntN(len(file)-fileHeader)] ^= 1 << r.IntN(8)
	}
	return file
}

var forgedGame = func() Game {
	g := endingGame()
	g.Version = "one"
	return g
}()

// loadForged loads a forged snapshot, and if that goes runs on with it.
func loadForged(t testing.TB, file []byte) bool {
	s, _, err := Load(forgedGame, bytes.NewReader(file))
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrOtherGame) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrNotRecording) {
			t.Fatal(err)
		}
		return false
	}
	advance(s, 2)
	again := s.AppendSnapshot(nil)
	other, _, err := Load(forgedGame, bytes.NewReader(again))
	if err != nil || other.World().Hash() != s.World().Hash() {
		t.Fatalf("what was loaded is not loaded again: %v", err)
	}
	s.Leave(s.lastPlayer)
	s.Advance()
	return true
}

func FuzzLoad(f *testing.F) {
	for ticks := range 3 {
		c := newTroupe(f, 40)
		for range 4 * ticks {
			c.tick()
		}
		f.Add(c.sims[0].AppendSnapshot(nil))
		c.sims[0].Say([]byte("the end is near"))
		if err := c.sims[0].Inject(say{"end"}); err != nil {
			f.Fatal(err)
		}
		c.tick()
		f.Add(c.sims[0].AppendSnapshot(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		loadForged(t, b)
		loadForged(t, withSums(b))
	})
}

// A new version of the game may make other terrain: what was edited stays, and the room is kept as before.
func TestANewVersionMayMakeOtherTerrain(t *testing.T) {
	game := func(version string, ground byte) Game {
		g := endingGame()
		g.Version = version
		g.Terrain = func(_ uint64, _, _ int16, cells *Cells) { cells[0] = ground }
		step := g.Step
		g.Step = func(w *World, in []Input) {
			if w.Tick() == 1 {
				w.SetCell(5, 5, 3)
			}
			step(w, in)
		}
		return g
	}
	s, err := New(game("one", 0), Config{})
	if err != nil {
		t.Fatal(err)
	}
	advance(s, 5)
	for _, version := range []string{"two", "two"} {
		next, _, err := Load(game(version, 1), bytes.NewReader(s.AppendSnapshot(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if got := next.World().Cell(5, 5); got != 3 {
			t.Errorf("the edited cell is %d", got)
		}
		advance(next, 3)
		s = next
	}
}
