package world

import (
	"fmt"
	"math"
	"testing"
)

// claimWorld is an open world with a wall of one cell at x = 100 and a player whose outline is a
// circle of 10, as the arena's are.
func claimWorld(t *testing.T) (w *World, id ID, claim func(x, y float64) Reason) {
	t.Helper()
	g := testGame()
	g.Setup = nil
	g.Hitboxes = []Hitbox{1: Circle(10)}
	g.Terrain = func(_ uint64, bx, by int16, cells *Cells) {
		if bx == 0 {
			for y := range ChunkSide {
				cells[y*ChunkSide+100] = 1
			}
		}
	}
	s := newSimOf(t, g, Config{})
	w = s.World()
	w.players.add(Player{ID: 1})
	id = Spawn(w, walker{Body: Body{X: 20, Y: 50, Sprite: 1}})
	w.Own(1, id)
	return w, id, func(x, y float64) Reason {
		in := Input{Kind: Steer, Player: 1, Steer: Steering{Entity: id, HasPlace: true, X: x, Y: y}}
		return w.Steer(&in)
	}
}

// A player that stood still for 11 s moved 300 cells in one tick. "The allowance never exceeds 2 cells
// and one second's walk, and the way must be free" (realm).
func TestWhoStoodStillHasOneSecondsWalk(t *testing.T) {
	w, id, claim := claimWorld(t)
	w.begin(11 * 20)
	wantReason(t, "300 cells", claim(-280, 50), Unreachable)
	wantReason(t, "a second's walk, the grace, and a bit", claim(20-30-2.1, 50), Unreachable)
	w.begin(11*20 + 1)
	wantReason(t, "a second's walk and the grace", claim(20-30-1.9, 50), Accepted)
	wantReason(t, "and that again", claim(20-60-4, 50), Unreachable)
	w.begin(11*20 + 2)
	wantReason(t, "a tick later", claim(20-30-1.9-3.6, 50), Unreachable)
	// A body that walks by its speed takes its allowance along.
	b := w.Body(id)
	w.Place(id, -400, 50)
	b.Norm = 1.5
	for range 100 {
		w.begin(w.tick + 1)
		w.Move(b)
	}
	wantReason(t, "where its speed has brought it", claim(b.X+1, b.Y), Accepted)
	w.begin(w.tick + 1)
	wantReason(t, "further than it can have walked", claim(b.X+40, b.Y), Unreachable)
}

func TestAClaimGoesThroughNoWall(t *testing.T) {
	w, id, claim := claimWorld(t)
	w.Place(id, 89, 50)
	w.begin(w.tick + 200)
	wantReason(t, "through the wall", claim(112, 50), Blocked)
	wantReason(t, "at a slant", claim(111.5, 60), Blocked)
	w.begin(w.tick + 1)
	wantReason(t, "along the wall", claim(89.5, 75), Accepted)
	// Who stands in a wall that was built around it may walk out.
	w.SetCell(89, 75, 1)
	w.begin(w.tick + 200)
	wantReason(t, "out of a wall", claim(60, 75), Accepted)
	// The way is looked at so many times a tick, and not more.
	w.begin(w.tick + 200)
	w.Place(id, 80, 50)
	w.begin(w.tick + 200)
	for n := range 10 {
		want := Unreachable
		if n < maxFarClaims {
			want = Blocked
		}
		wantReason(t, fmt.Sprint("claim ", n), claim(110.5, 50), want)
	}
	wantReason(t, "a step is free", claim(81, 50), Accepted)
}

// A late claim is judged at its tick: by what was free then, and how far it could have come by then.
func TestALateClaimIsJudgedAtItsTick(t *testing.T) {
	s := newSim(t, Config{Seed: 4})
	p := join(t, s, "a")
	advance(s, 12)
	_, a := avatar(t, s, p)
	x, y := a.X, a.Y
	wantReason(t, "a step at its tick", s.Steer(p, s.Tick()-10, Steering{HasPlace: true, X: x + 1, Y: y}, 7), Accepted)
	wantReason(t, "the next, 5 ticks later", s.Steer(p, s.Tick()-5, Steering{HasPlace: true, X: x + 8, Y: y}, 8), Accepted)
	wantReason(t, "the next, as far again in a tick", s.Steer(p, s.Tick()-4, Steering{HasPlace: true, X: x + 16, Y: y}, 9), Accepted)
	s.Advance()
	outcome := map[uint32]Reason{}
	for _, e := range s.Events() {
		outcome[e.Tag] = e.Reason
	}
	if outcome[7] != Accepted || outcome[8] != Accepted || outcome[9] != Unreachable {
		t.Errorf("%v", outcome)
	}
}

// "Cells are half-open, so a hitbox that ends at the border of the cell above or to the right is in
// that cell" (realm). A client freezes where the whole cell that it is told is not free.
func TestABodyIsFreeAsTheCellThatIsTold(t *testing.T) {
	r := newRand(t)
	w := roomWorld(t, Circle(10), Rectangle(20, 20), Circle(2.5), Circle(0.4))
	for _, tt := range []struct {
		x, y float64
		hits bool
	}{{20, 15, true}, {19.99, 15, false}, {10, 15, false}, {9.99, 15, true}, {15, 20, true}, {15, 19.99, false}, {15, 10, false}, {15, 9.99, true}} {
		for sprite := range 2 {
			if got := w.hits(tt.x, tt.y, w.game.Hitboxes[sprite]); got != tt.hits {
				t.Errorf("sprite %d at (%v, %v) hits: %v", sprite, tt.x, tt.y, got)
			}
		}
	}
	for range 30 {
		w.SetCell(float64(r.IntN(30)), float64(r.IntN(30)), 1)
	}
	stops := 0
	for range rounds(5_000, 100_000) {
		b := Body{X: r.Float64() * 30, Y: r.Float64() * 30, Sprite: uint16(2 + r.IntN(2))}
		h := w.Hitbox(&b)
		if !w.Free(b.X, b.Y, h) {
			continue
		}
		b.Angle, b.Norm = float32(r.Float64()*7), float32(r.Float64()*20)
		if w.Move(&b) {
			stops++
		}
		if w.hits(b.X, b.Y, h) || w.hits(math.Floor(b.X), math.Floor(b.Y), h) {
			t.Fatalf("it stands at (%v, %v)", b.X, b.Y)
		}
	}
	if stops == 0 {
		t.Error("nothing was stopped")
	}
}

// "A claim of the cell that the server told last is no move, and always taken; a refused position does
// not take angle and norm with it" (realm).
func TestAToldPlaceIsNoMove(t *testing.T) {
	w, id, _ := claimWorld(t)
	b := w.Body(id)
	b.Norm = 1.5
	for range 100 {
		w.begin(w.tick + 1)
		w.Move(b)
	}
	if cell := math.Floor(b.X); cell != 89 {
		t.Fatalf("it stands at %v", b.X)
	}
	was := *b
	steer := func(told bool, x float64) Reason {
		in := Input{Kind: Steer, Player: 1, Steer: Steering{Entity: id, HasPlace: true, Told: told, Cell: true, X: x, Y: 50.5, HasAngle: true, Angle: 3, HasNorm: true, Norm: 0.5}}
		return w.Steer(&in)
	}
	wantReason(t, "the cell that was told", steer(true, 89.5), Accepted)
	if b.X != was.X || b.Angle != 3 || b.Norm != 0.5 {
		t.Errorf("%+v", b)
	}
	b.Angle, b.Norm = 0, 1.5
	wantReason(t, "a cell in the wall", steer(false, 90.5), Blocked)
	if b.X != was.X || b.Angle != 3 || b.Norm != 0.5 {
		t.Errorf("angle and norm went with the place: %+v", b)
	}
	w.SetCell(85, 50, 1)
	wantReason(t, "the cell that was told, in which a wall was built", steer(true, 88.5), Accepted)
	if b.X != was.X {
		t.Errorf("it is at %v", b.X)
	}
	// Whole cells that clients find free are free, also where the middle of the cell is not.
	w, id, _ = claimWorld(t)
	w.game.Hitboxes[1] = Rectangle(19.5, 19.5)
	w.Place(id, 89.1, 50)
	wantReason(t, "a cell whose middle is blocked", func() Reason {
		in := Input{Kind: Steer, Player: 1, Steer: Steering{Entity: id, HasPlace: true, X: 90.5, Y: 50.5}}
		return w.Steer(&in)
	}(), Accepted)
	if b := w.Body(id); b.X != 90 || b.Y != 50 {
		t.Errorf("it is at (%v, %v)", b.X, b.Y)
	}
}

// Who walks at full speed at a slant, and says the whole cell that it is in each tick, is never refused: from middle to middle of
// those cells is a longer way.
func TestAWholeCellIsNoDetour(t *testing.T) {
	r := newRand(t)
	for range rounds(50, 1_000) {
		w, id, _ := claimWorld(t)
		w.Place(id, -5000, 50)
		b := w.Body(id)
		x, y, angle := math.Floor(b.X), math.Floor(b.Y), r.Float64()*2*math.Pi
		for n := range 500 {
			if n%100 == 99 {
				angle += r.Float64() - .5
			}
			w.begin(w.tick + 1)
			sin, cos := SinCos(float64(float32(angle)))
			x, y = x+1.5*cos, y+1.5*sin
			in := Input{Kind: Steer, Player: 1, Steer: Steering{Entity: id, HasPlace: true, Cell: true, X: math.Floor(x) + .5, Y: math.Floor(y) + .5,
				HasAngle: true, Angle: float32(angle), HasNorm: true, Norm: 1.5}}
			if why := w.Steer(&in); why != Accepted {
				t.Fatalf("angle %v, tick %d: at (%v, %v) it says (%v, %v): %v", angle, n, b.X, b.Y, x, y, why)
			}
			if math.Floor(b.X) != math.Floor(x) || math.Floor(b.Y) != math.Floor(y) {
				t.Fatalf("it is at (%v, %v), and says (%v, %v)", b.X, b.Y, x, y)
			}
			w.Move(b)
		}
	}
}
