package world

import (
	"math"
	"testing"
)

// roomWorld is a world with one closed room: cells from 0 to 29, with walls of
// one cell around.
func roomWorld(t *testing.T, boxes ...Hitbox) *World {
	g := testGame()
	g.Setup = nil
	g.Hitboxes = boxes
	g.Terrain = func(_ uint64, bx, by int16, cells *Cells) {
		for i := range cells {
			x, y := int(bx)*ChunkSide+i%ChunkSide, int(by)*ChunkSide+i/ChunkSide
			if x >= -1 && x <= 30 && y >= -1 && y <= 30 && (x == -1 || x == 30 || y == -1 || y == 30) {
				cells[i] = 1
			}
		}
	}
	s := newSimOf(t, g, Config{})
	return s.World()
}

func TestABodyGoesWhereItsSpeedPoints(t *testing.T) {
	w := roomWorld(t, Circle(0.5))
	b := Body{X: 10, Y: 10, Norm: 2}
	w.Move(&b)
	if b.X != 12 || b.Y != 10 {
		t.Errorf("(%v, %v)", b.X, b.Y)
	}
	b.Angle = math.Pi / 2
	w.Move(&b)
	if math.Abs(b.X-12) > 1e-6 || math.Abs(b.Y-12) > 1e-6 {
		t.Errorf("y is up: (%v, %v)", b.X, b.Y)
	}
	b.Norm = 0.125
	for range 8 {
		w.Move(&b)
	}
	if math.Abs(b.Y-13) > 1e-6 {
		t.Errorf("fractions are lost: %v", b.Y)
	}
	for _, norm := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		was := b
		b.Norm = norm
		if w.Move(&b) || b.X != was.X {
			t.Errorf("norm %v moves", norm)
		}
	}
}

func TestABodyStopsAtAWall(t *testing.T) {
	w := roomWorld(t, Circle(1), Rectangle(2, 4), Hitbox{})
	for sprite, wantX := range []float64{29, 29, 55} {
		b := Body{X: 15, Y: 15, Norm: 40, Sprite: uint16(sprite)}
		stopped := w.Move(&b)
		if sprite == 2 {
			if stopped || b.X != wantX {
				t.Errorf("without a hitbox: %v", b.X)
			}
			continue
		}
		if !stopped || b.X > wantX || b.X < wantX-0.05 {
			t.Errorf("sprite %d stands at %v, want %v", sprite, b.X, wantX)
		}
		if b.Norm != 40 || !w.Move(&b) {
			t.Error("it has lost its speed, or is through")
		}
	}
	// The wall came to it: it may walk out, but not through the next one.
	b := Body{X: 15, Y: 15, Norm: 1}
	w.SetCell(15, 15, 1)
	if w.Move(&b) || b.X != 16 {
		t.Errorf("walled in at %v", b.X)
	}
	far := Body{X: 256 * 32767, Y: 0, Norm: 256, Sprite: 2}
	for range 3 {
		w.Move(&far)
	}
	if _, _, _, _, ok := Locate(far.X, far.Y); !ok {
		t.Errorf("over the edge at %v", far.X)
	}
}

// However fast it is, nothing gets out of a closed room.
func TestNothingTunnels(t *testing.T) {
	r := newRand(t)
	w := roomWorld(t, Circle(0.3), Circle(2.5), Rectangle(0.2, 0.2), Rectangle(3, 1))
	for range rounds(3_000, 100_000) {
		b := Body{X: 15, Y: 15, Sprite: uint16(r.IntN(4))}
		for range 12 {
			b.Angle, b.Norm = float32(r.Float64()*7-3.5), float32(math.Exp(r.Float64()*8-2))
			w.Move(&b)
			if b.X < 0 || b.X > 30 || b.Y < 0 || b.Y > 30 {
				t.Fatalf("out at (%v, %v), norm %v", b.X, b.Y, b.Norm)
			}
			if w.hits(b.X, b.Y, w.Hitbox(&b)) {
				t.Fatalf("inside a wall at (%v, %v)", b.X, b.Y)
			}
		}
	}
}

// hits against a look at each cell as a box.
func TestHitsAgainstCells(t *testing.T) {
	r := newRand(t)
	w := newSim(t, Config{Seed: 1}).World()
	for range 300 {
		w.SetCell(float64(r.IntN(60)-30), float64(r.IntN(60)-30), 1)
	}
	hits := 0
	for range rounds(20_000, 1_000_000) {
		x, y := r.Float64()*50-25, r.Float64()*50-25
		h := Circle(0.1 + r.Float64()*3)
		if r.IntN(2) == 0 {
			h = Rectangle(0.1+r.Float64()*4, 0.1+r.Float64()*4)
		}
		want := false
		for cx := math.Floor(x) - 5; cx < x+5; cx++ {
			for cy := math.Floor(y) - 5; cy < y+5; cy++ {
				if !w.Passable(cx, cy) && overlap(x, y, h, cx+0.5, cy+0.5, Rectangle(1, 1)) {
					want = true
				}
			}
		}
		if got := w.hits(x, y, h); got != want {
			t.Fatalf("%+v at (%v, %v): %v", h, x, y, got)
		}
		if want {
			hits++
		}
	}
	if hits == 0 {
		t.Error("nothing was hit")
	}
}

// A game may put a body anywhere in the middle of a step, and ask.
func TestPlacesThatAreNone(t *testing.T) {
	w := roomWorld(t, Hitbox{}, Circle(1))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 256 * 32768, -256*32768 - 1} {
		for _, at := range [][2]float64{{v, 0}, {0, v}, {v, v}} {
			if !w.hits(at[0], at[1], Circle(1)) || w.Free(at[0], at[1], Hitbox{}) || w.hits(at[0], at[1], Hitbox{}) {
				t.Errorf("%v is a place", at)
			}
			id := Spawn(w, sprout{Body: Body{X: at[0], Y: at[1], Norm: 2, Sprite: 1}})
			w.MoveAll()
			for range w.Near(at[0], at[1], 5) {
			}
			for range w.Near(3, 3, at[0]) {
			}
			w.Despawn(id)
		}
	}
	if squareOf(math.NaN()) != 0 || squareOf(-1e300) != 0 || squareOf(1e300) != 1<<gridBits-1 || squareOf(0) != 1<<(gridBits-1) {
		t.Error("a square of nowhere")
	}
}

func TestOverlap(t *testing.T) {
	circle, box, null := Circle(2), Rectangle(4, 2), Hitbox{}
	for _, tt := range []struct {
		name   string
		a, b   Hitbox
		dx, dy float64
		want   bool
	}{
		{"circles that overlap", circle, circle, 3.9, 0, true},
		{"circles that touch", circle, circle, 4, 0, false},
		{"circles at a slant", circle, circle, 2.9, 2.9, false},
		{"boxes that overlap", box, box, 3.9, 1.9, true},
		{"boxes beside each other", box, box, 4, 0, false},
		{"a circle over a box", circle, box, 0, 2.9, true},
		{"a circle by a box", circle, box, 4, 0, false},
		{"a circle at a corner", circle, box, 3.5, 2.5, false},
		{"a circle nearer to the corner", circle, box, 3.3, 2.3, true},
		{"nothing", null, circle, 0, 0, false},
		{"a box of no height", Rectangle(4, 0), circle, 0, 0, false},
	} {
		for _, sign := range []float64{1, -1} {
			if overlap(5, 5, tt.a, 5+sign*tt.dx, 5+tt.dy, tt.b) != tt.want || overlap(5, 5, tt.b, 5+sign*tt.dx, 5-tt.dy, tt.a) != tt.want {
				t.Errorf("%s: not %v", tt.name, tt.want)
			}
		}
	}
	if h := Circle(1e9); h.radius != maxHitbox {
		t.Errorf("%+v", h)
	}
}

// Near and Touching against a look at everything.
func TestNearAgainstAll(t *testing.T) {
	r := newRand(t)
	w := newSim(t, Config{}).World()
	for range 200 {
		Spawn(w, sprout{Body: Body{X: r.NormFloat64() * 100, Y: r.NormFloat64() * 100, Sprite: uint16(1 + r.IntN(2))}})
	}
	Spawn(w, sprout{Body: Body{X: 8e6, Y: -8e6}})
	w.Reindex()
	found := 0
	for range rounds(2_000, 100_000) {
		x, y, d := r.NormFloat64()*100, r.NormFloat64()*100, math.Exp(r.Float64()*6)
		if r.IntN(20) == 0 {
			d = 1e12
		}
		got := map[ID]bool{}
		for id, b := range w.Near(x, y, d) {
			if got[id] || w.Body(id) != b {
				t.Fatal("twice, or another body")
			}
			got[id] = true
		}
		want := 0
		for id, s := range All[sprout](w) {
			if Hypot(s.X-x, s.Y-y) <= d {
				want++
				if !got[id] {
					t.Fatalf("%v at (%v, %v) is within %v of (%v, %v)", id, s.X, s.Y, d, x, y)
				}
			}
		}
		if len(got) != want {
			t.Fatalf("%d, want %d", len(got), want)
		}
		found += want
	}
	for id, a := range All[sprout](w) {
		n := 0
		for range w.Touching(&a.Body) {
			n++
		}
		for other, b := range All[sprout](w) {
			if other != id && w.Overlap(&a.Body, &b.Body) {
				n--
			}
		}
		if n != 0 {
			t.Fatalf("%v touches %d too many", id, n)
		}
	}
	if found == 0 {
		t.Error("nothing was near")
	}
	for id := range w.Near(0, 0, 1e12) {
		w.Despawn(id)
	}
	for range w.Near(0, 0, 1e12) {
		t.Error("the dead are near")
	}
}
