package world

import (
	"math"
	"testing"
)

func TestPlacesAreChunkAndCell(t *testing.T) {
	for _, tt := range []struct {
		x, y   float64
		bx, by int16
		cx, cy uint8
		ok     bool
	}{
		{0, 0, 0, 0, 0, 0, true},
		{-0.1, 255.9, -1, 0, 255, 255, true},
		{-256, -257, -1, -2, 0, 255, true},
		{-256 * 32768, 256*32768 - 1, -32768, 32767, 0, 255, true},
		{256 * 32768, 0, 0, 0, 0, 0, false},
		{0, -256*32768 - 0.1, 0, 0, 0, 0, false},
		{math.NaN(), 0, 0, 0, 0, 0, false},
		{0, math.Inf(1), 0, 0, 0, 0, false},
	} {
		bx, by, cx, cy, ok := Locate(tt.x, tt.y)
		if bx != tt.bx || by != tt.by || cx != tt.cx || cy != tt.cy || ok != tt.ok {
			t.Errorf("(%v, %v): %d %d %d %d %v", tt.x, tt.y, bx, by, cx, cy, ok)
		}
		if x, y := Place(bx, by, cx, cy); ok && (x != math.Floor(tt.x)+0.5 || y != math.Floor(tt.y)+0.5) {
			t.Errorf("(%v, %v) is in the cell around (%v, %v)", tt.x, tt.y, x, y)
		}
	}
}

func TestEditedCellsAreCopiedOnWrite(t *testing.T) {
	s := newSim(t, Config{Seed: 1})
	w := s.World()
	empty := w.Hash()
	var before, after snapshot
	w.save(&before)
	for x := range 300 {
		if !w.SetCell(float64(x), -3, 3) {
			t.Fatal(x)
		}
	}
	w.save(&after)
	edited := w.Hash()
	if edited == empty || w.Cell(299, -3) != 3 || w.Passable(299.5, -2.5) {
		t.Fatal("nothing has changed")
	}
	if a, b := after.terrain.edited[0], w.terrain.edited[0]; a != b {
		t.Error("a chunk was copied that nobody wrote to")
	}
	w.SetCell(1, -3, 2)
	if after.terrain.edited[0] == w.terrain.edited[0] {
		t.Error("a chunk of the past was written to")
	}
	w.load(&before)
	if w.Hash() != empty || w.Cell(299, -3) == 3 || !w.Passable(299.5, -2.5) {
		t.Error("going back does not bring the old cells")
	}
	w.load(&after)
	if w.Hash() != edited || w.Cell(1, -3) != 3 {
		t.Error("going forward does not bring the new cells")
	}
	w.SetCell(1, -3, 2)
	w.SetCell(1, -3, 3)
	if w.Hash() != edited {
		t.Error("the hash is not that of the cells")
	}
	// Chunks that no tick holds any more are used again.
	for range 100 {
		w.SetCell(1, -3, uint8(2+w.Random().IntN(2)))
		w.save(&before)
	}
	if n := len(w.terrain.spare); n > 4 {
		t.Errorf("%d spare chunks", n)
	}
}

func TestTerrainOfStrangersCostsNoMemory(t *testing.T) {
	s := newSim(t, Config{Seed: 1})
	h := s.World().Hash()
	for i := range 600 {
		s.Chunk(int16(i), int16(-i))
	}
	if n := len(s.world.terrain.pristine); n != pristineChunks {
		t.Errorf("%d chunks are kept", n)
	}
	if s.World().Hash() != h {
		t.Error("looking changes the world")
	}
	if got, want := *s.Chunk(0, 1), walledCells; got != want {
		t.Error("a chunk is not what was made of it")
	}
}

func TestEditedChunksHaveABound(t *testing.T) {
	var tr terrain
	tr.init(&Game{}, 0)
	tr.edited = make([]*chunk, maxEditedChunks)
	for i := range tr.edited {
		tr.edited[i] = &chunk{bx: int16(i), refs: 1}
		tr.edited[i].fill(&walledCells)
	}
	if tr.set(-1, 0, 0, 0, 1) || !tr.set(5, 0, 0, 0, 1) {
		t.Error("the bound is not kept, or keeps too much out")
	}
}

func TestChangedChunksAreTold(t *testing.T) {
	s := newSim(t, Config{Seed: 1})
	p := join(t, s, "a")
	s.Advance()
	if n := len(s.ChangedChunks()); n != 0 {
		t.Fatalf("%d chunks", n)
	}
	s.Act(p, s.Tick(), s.Schema().ActionNamed("dig"), []Value{UintValue(U8, 2), UintValue(Bool, 0)}, 0)
	s.Advance()
	_, a := avatar(t, s, p)
	bx, by, cx, cy, _ := Locate(a.X+3, a.Y)
	if got := s.ChangedChunks(); len(got) != 1 || got[0] != (ChunkPlace{bx, by}) {
		t.Fatalf("%v", got)
	}
	if s.Chunk(bx, by)[int(cy)*ChunkSide+int(cx)] != 2 {
		t.Error("the cell is not as it was dug")
	}
	s.Advance()
	if n := len(s.ChangedChunks()); n != 0 {
		t.Errorf("%d chunks, though nothing has changed", n)
	}
}

func TestSolidSpansAgainstCells(t *testing.T) {
	r := newRand(t)
	w := newSim(t, Config{Seed: 1}).World()
	for range 400 {
		w.SetCell(float64(r.IntN(600)-300), float64(r.IntN(20)-10), uint8(r.IntN(4)))
	}
	for range rounds(20_000, 1_000_000) {
		x0, y := r.IntN(600)-300, r.IntN(20)-10
		x1 := x0 + r.IntN(80)
		want := false
		for x := x0; x <= x1; x++ {
			want = want || !w.Passable(float64(x), float64(y))
		}
		if got := w.terrain.solidSpan(x0, x1, y); got != want {
			t.Fatalf("%d to %d in row %d: %v", x0, x1, y, got)
		}
		y1 := y + r.IntN(30)
		for row := y + 1; row <= y1; row++ {
			want = want || w.terrain.solidSpan(x0, x1, row)
		}
		if got := w.terrain.solidBox(x0, y, x1, y1); got != want {
			t.Fatalf("%d, %d to %d, %d: %v", x0, y, x1, y1, got)
		}
	}
	if !w.terrain.solidSpan(256*32768-1, 256*32768, 0) || !w.terrain.solidSpan(0, 0, 256*32768) || !w.terrain.solidSpan(-256*32768-1, 0, 0) {
		t.Error("the edge of the world is open")
	}
	const edge = 256 * 32768
	if b := w.terrain.solidBox; !b(edge-1, 0, edge, 0) || !b(0, edge-1, 0, edge) || !b(-edge-1, 0, -edge, 0) || !b(0, -edge-1, 0, -edge) {
		t.Error("the edge of the world is open to a box")
	}
}

// Lines that several rows share are told apart when one is written, up to a chunk of which every row is another.
func TestAChunkHasItsCells(t *testing.T) {
	r := newRand(t)
	for range rounds(200, 2000) {
		want := new(Cells)
		lines := 1 + r.IntN(ChunkSide)
		seeds := make([]uint64, lines)
		for i := range seeds {
			seeds[i] = r.Uint64()
		}
		for i := range want {
			want[i] = uint8(mix(seeds[i/ChunkSide%lines]+uint64(i%ChunkSide)/32) % 3)
		}
		var tr terrain
		tr.init(&Game{CellTypes: []Cell{{}, {Solid: true}}, Terrain: func(_ uint64, _, _ int16, cells *Cells) { *cells = *want }}, 0)
		made := *want
		var was terrainCopy
		for range r.IntN(2000) {
			x, y, v := uint8(r.IntN(ChunkSide)), uint8(r.IntN(ChunkSide)), uint8(r.IntN(3))
			tr.set(0, 0, x, y, v)
			made[int(y)*ChunkSide+int(x)] = v
			if r.IntN(100) == 0 {
				tr.save(&was) // the next is written to a copy
			}
		}
		c, got := tr.chunkAt(0, 0), new(Cells)
		if c.copyTo(got); *got != made {
			t.Fatal("the cells are others")
		}
		rows := 0
		for i := range c.lines {
			rows += c.lines[i].rows
		}
		if rows != ChunkSide || len(c.lines) > ChunkSide {
			t.Fatalf("%d rows in %d lines", rows, len(c.lines))
		}
		for i, v := range made {
			if x, y := i%ChunkSide, i/ChunkSide; tr.solidSpan(x, x, y) != (v == 1) {
				t.Fatalf("cell %d, %d is %d", x, y, v)
			}
		}
	}
}
