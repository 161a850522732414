package world

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzGuess has a hostile server tell anything, in any order, while the game runs: nothing panics, and what always holds does.
func FuzzGuess(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte("putputownrunrunadoptbackdropputrun"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 600 {
			return
		}
		guessOps(t, script)
	})
}

// The same scripts, made at random, in every plain run.
func TestRandomGuess(t *testing.T) {
	r := newRand(t)
	for range rounds(400, 20_000) {
		script := make([]byte, 300)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		guessOps(t, script)
	}
}

func guessOps(t testing.TB, script []byte) {
	g := newGuess(t, testGame())
	r := rand.New(rand.NewPCG(uint64(len(script)), 3))
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	wire := func() uint16 {
		switch n := next(); {
		case n < 200:
			return uint16(n % 20)
		case n < 230:
			return MaxEntity - 1 + uint16(n%4)
		default:
			return uint16(r.Uint32())
		}
	}
	schema := g.World().Schema()
	for len(script) > 0 {
		switch op := next() % 12; op {
		case 0, 1, 2:
			k := schema.Kinds[next()%len(schema.Kinds)]
			g.Put(wire(), k, oddValues(r, k.Fields, next()))
		case 3:
			g.Drop(wire())
		case 4:
			g.Own(wire())
		case 5:
			g.Back(g.Tick() - uint64(next()%12))
		case 6:
			g.Steer(Steering{HasAngle: true, HasNorm: true, Angle: oddFloat(r), Norm: oddFloat(r), HasPlace: next()%2 == 0, X: r.NormFloat64() * 9})
		case 7:
			a := schema.Actions[next()%len(schema.Actions)]
			g.Act(a, oddValues(r, a.Fields, next()), g.Tick()-uint64(next()%8))
		case 8:
			for id := range g.World().Entities() {
				if _, ok := g.Wire(id); !ok {
					g.Adopt(id, wire())
					break
				}
			}
		case 9:
			var cells Cells
			cells[next()] = byte(next())
			g.SetChunk(ChunkPlace{int16(next()%3) - 1, 0}, &cells)
		default:
			if err := g.Run(); err != nil {
				t.Fatal(err)
			}
		}
		checkGuess(t, g)
	}
}

func oddFloat(r *rand.Rand) float32 {
	odd := []float64{0, 1, -1, 1e-40, math.MaxFloat32, math.NaN(), math.Inf(1), 1e9}
	if r.IntN(3) == 0 {
		return float32(odd[r.IntN(len(odd))])
	}
	return r.Float32()
}

// oddValues are such as no honest server would tell, now and then.
func oddValues(r *rand.Rand, fields []Field, how int) (list []Value) {
	for _, f := range fields {
		v := Value{Type: f.Type, bits: r.Uint64()}
		switch {
		case f.Type == Text:
			v = TextValue(strings.Repeat("é\xff", r.IntN(200)))
		case f.Type == F32:
			v = FloatValue(F32, float64(oddFloat(r)))
		case f.Type == F64 && how%4 == 0:
			v = FloatValue(F64, r.NormFloat64()*math.MaxFloat64)
		case f.Type == F64:
			v = FloatValue(F64, r.Float64()*60)
		case f.Type == Entity:
			v.bits %= 1 << 17
		}
		if how%16 == 1 && r.IntN(4) == 0 {
			v.Type = Type(r.IntN(16))
		}
		list = append(list, v)
	}
	if how%32 == 3 {
		list = list[:r.IntN(len(list)+1)]
	}
	return list
}

// checkGuess checks what always holds.
func checkGuess(t testing.TB, g *Guess) {
	t.Helper()
	w, n, bytes := g.World(), 0, 0
	for _, tab := range w.tables {
		rows := 0
		for row := tab.next(0); row >= 0; row = tab.next(row + 1) {
			rows++
			id := tab.ids[row]
			if at, ok := w.where.get(id); !ok || at != uint32(tab.kind.index)<<16|uint32(row) {
				t.Fatalf("%v is in row %d of %s, and at %x, %v", id, row, tab.kind.Name, at, ok)
			}
			if wire, ok := g.Wire(id); ok && g.ID(wire) != id {
				t.Fatalf("%v has the number %d, which is %v", id, wire, g.ID(wire))
			}
		}
		if rows != tab.count || rows > tab.kind.rows {
			t.Fatalf("%d rows of %s, counted %d", rows, tab.kind.Name, tab.count)
		}
		n, bytes = n+rows, bytes+rows*int(tab.size)
	}
	if n != w.where.n {
		t.Fatalf("%d entities, and %d are known by ID", n, w.where.n)
	}
	p, ok := w.Player(OwnPlayer)
	if want := g.ID(g.own); !ok || p.Entity != want {
		t.Fatalf("the player is %+v, %v, and its own entity %v", p, ok, want)
	}
}

func newGuess(t testing.TB, game Game) *Guess {
	t.Helper()
	g, err := NewGuess(game, Config{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// walkerAt are the values of a walker.
func walkerAt(x, y, norm float64) []Value {
	return []Value{FloatValue(F64, x), FloatValue(F64, y), FloatValue(F32, 0), FloatValue(F32, norm), UintValue(U16, 1),
		IntValue(I16, 9), TextValue("ann"), UintValue(Entity, 7)}
}

// "Unexported fields stay as this guess has them", also when it goes back.
func TestAGuessKeepsHiddenFields(t *testing.T) {
	g := newGuess(t, testGame())
	kind := g.World().Schema().Kinds[0]
	g.Back(99)
	g.Put(3, kind, walkerAt(5, 5, 0))
	for range 10 {
		g.Run()
	}
	if a := Get[walker](g.World(), 3); a.steps != 10 || a.Target != 7 || a.Name != "ann" {
		t.Fatalf("%+v", a)
	}
	if !g.Back(104) || Get[walker](g.World(), 3).steps != 5 || g.Tick() != 105 || g.World().Tick() != 104 {
		t.Fatalf("%+v, tick %d", Get[walker](g.World(), 3), g.Tick())
	}
	g.Put(3, kind, walkerAt(6, 5, 0))
	if a := Get[walker](g.World(), 3); a.steps != 5 || a.X != 6 {
		t.Fatalf("%+v", a)
	}
	if g.Back(10) || g.Tick() != 11 || Get[walker](g.World(), 3).X != 6 {
		t.Error("a tick that is not known changes the world")
	}
}

// A panic of Step is an error, and the world is that before the tick.
func TestAGuessSurvivesAPanic(t *testing.T) {
	game := testGame()
	fine := true
	game.Step = func(w *World, in []Input) {
		testStep(w, in)
		Spawn(w, sprout{})
		if !fine {
			Get[walker](w, 12345).Health++
		}
	}
	g := newGuess(t, game)
	g.Back(99)
	g.Put(3, g.World().Schema().Kinds[0], walkerAt(5, 5, 1))
	g.Run()
	before := g.World().Hash()
	fine = false
	g.Steer(steer(1, 1))
	err := g.Run()
	if err == nil || !strings.Contains(err.Error(), "tick 101") {
		t.Fatal(err)
	}
	if g.World().Hash() != before || g.Tick() != 101 {
		t.Error("the world is another")
	}
	checkGuess(t, g)
	fine = true
	if err := g.Run(); err != nil || Get[walker](g.World(), 3).Norm == 0 {
		t.Error("it does not go on: ", err)
	}
}

// What a server tells of the terrain counts at once and in the past; what Step has changed counts for a second if the server does not.
func TestAGuessOfTheTerrain(t *testing.T) {
	g := newGuess(t, testGame())
	w := g.World()
	g.Back(99)
	g.Put(3, w.Schema().Kinds[0], walkerAt(5.5, 5.5, 0))
	g.Own(3)
	dig := w.Schema().ActionNamed("dig")
	g.Act(dig, []Value{UintValue(U8, 3), UintValue(Bool, 0)}, 0)
	g.Run()
	if w.Cell(8.5, 5.5) != 3 || w.Passable(8.5, 5.5) {
		t.Fatal("nothing is dug")
	}
	g.Back(99)
	if w.Cell(8.5, 5.5) != 0 {
		t.Fatal("it is dug before")
	}
	g.Act(dig, []Value{UintValue(U8, 3), UintValue(Bool, 0)}, 0)
	for range 10 {
		g.Run()
	}
	var cells Cells
	cells[9*ChunkSide+9] = 1
	g.SetChunk(ChunkPlace{0, 0}, &cells)
	if w.Cell(8.5, 5.5) != 0 || w.Passable(9.5, 9.5) {
		t.Error("the server does not count")
	}
	if g.Back(102); w.Cell(8.5, 5.5) != 0 || w.Passable(9.5, 9.5) {
		t.Error("the server does not count in the past")
	}
	g.Act(dig, []Value{UintValue(U8, 2), UintValue(Bool, 0)}, 0)
	for range 30 {
		g.Run()
		g.Back(g.Tick() - 2)
		g.Run()
	}
	if w.Cell(8.5, 5.5) != 0 || w.Cell(9.5, 9.5) != 1 {
		t.Errorf("what the server does not tell of stays: %d and %d", w.Cell(8.5, 5.5), w.Cell(9.5, 9.5))
	}
	for i := range 3 * maxToldChunks {
		g.SetChunk(ChunkPlace{int16(i), 1}, &cells)
	}
	for y := range ChunkSide {
		for x := range ChunkSide {
			cells[y*ChunkSide+x] = uint8(x * y) // each line is another
		}
	}
	for i := range 3 * maxToldLines / ChunkSide {
		g.SetChunk(ChunkPlace{int16(i), 2}, &cells)
	}
	if last := (ChunkPlace{int16(3*maxToldLines/ChunkSide - 1), 2}); !g.HasChunk(last) || g.HasChunk(ChunkPlace{0, 1}) || g.HasChunk(ChunkPlace{0, 3}) {
		t.Error("it does not know which chunks it was told last")
	}
	if n := len(w.terrain.told); n > maxToldChunks || g.lines > maxToldLines || n < 200 {
		t.Errorf("%d chunks of %d lines", n, g.lines)
	}
}

// A server that tells of bodies in a thousand chunks does not make a client compute a thousand chunks in each tick.
func TestAGuessMakesFewChunks(t *testing.T) {
	game, made := testGame(), 0
	terrain := game.Terrain
	game.Terrain = func(seed uint64, bx, by int16, cells *Cells) {
		made++
		terrain(seed, bx, by, cells)
	}
	g := newGuess(t, game)
	kind := g.World().Schema().Kinds[0]
	for n := range 1000 {
		g.Put(uint16(n+1), kind, walkerAt(float64(n%32)*ChunkSide+100, float64(n/32)*ChunkSide+100, 1))
	}
	if err := g.Run(); err == nil || !strings.Contains(err.Error(), "chunks of terrain") {
		t.Errorf("a tick over a thousand chunks: %v", err)
	}
	if made > maxGuessedChunks {
		t.Errorf("%d chunks were made, want at most %d", made, maxGuessedChunks)
	}
	if g.World().Cell(30_000, 30_000); made == 0 {
		t.Error("the world is not usable any more")
	}
	for n := range 1000 {
		g.Drop(uint16(n + 1))
	}
	if g.Put(1, kind, walkerAt(100, 100, 1)); g.Run() != nil {
		t.Error("a tick over one chunk fails")
	}
}
