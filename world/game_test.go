package world

import (
	"testing"
)

// The game of the tests: walkers walk, seeds are sown and grow, marks have no
// place. It draws on all that a game may: chance, terrain, neighbours, strings,
// references, hidden state.

type walker struct {
	Body   `parley:"speed=1.5,cap=256"`
	Health int16
	Name   string `parley:"max=12"`
	Target ID
	steps  uint32
	path   [3]float64
	last   struct{ cell uint8 }
}

type sprout struct {
	Body   `parley:"cap=256"`
	Age    uint16
	Parent ID
	Ratio  float32
}

type mark struct {
	_     struct{} `parley:"cap=8"`
	Count uint64
	Note  string
	On    bool
}

type sow struct {
	Angle  float32
	Entity ID
}

type dig struct {
	Value uint8
	Deep  bool
}

type say struct{ Text string }

func testGame() Game {
	return Game{
		Name:    "test",
		Kinds:   Kinds(walker{}, sprout{}, mark{}),
		Actions: Actions(sow{}, dig{}, say{}),
		Step:    testStep,
		Setup: func(w *World) {
			Spawn(w, mark{Note: "first"})
			for i := range 5 {
				Spawn(w, sprout{Body: Body{X: float64(i * 20), Y: 30, Sprite: 2}})
			}
		},
		Terrain:   testTerrain,
		CellTypes: []Cell{{}, {Solid: true}, {}, {Solid: true}},
		Hitboxes:  []Hitbox{1: Circle(1.2), 2: Rectangle(1, 2)},
		May:       func(w *World, p PlayerID, id ID) bool { return Get[sprout](w, id) != nil && w.Owner(id) == p },
	}
}

// testTerrain has walls of one cell around squares of 40, with doors; some
// chunks have none.
func testTerrain(seed uint64, bx, by int16, cells *Cells) {
	if (seed+uint64(bx)+uint64(by))%4 == 0 {
		return
	}
	*cells = walledCells
}

var walledCells = func() (cells Cells) {
	for i := range cells {
		x, y := i%ChunkSide%40, i/ChunkSide%40
		if x == 39 && (y < 15 || y > 25) || y == 39 && (x < 15 || x > 25) {
			cells[i] = 1
		}
	}
	return cells
}()

func testStep(w *World, in []Input) {
	for i := range in {
		testInput(w, &in[i])
	}
	w.MoveAll()
	for id, a := range All[walker](w) {
		a.steps++
		a.path[w.Tick()%3] = a.X
		a.last.cell = w.Cell(a.X, a.Y)
		for other := range w.Touching(&a.Body) {
			if s := Get[sprout](w, other); s != nil && s.Age > 3 {
				a.Health++
				a.Target = other
				s.Parent = id
				if w.Random().IntN(4) == 0 {
					w.Despawn(other)
				}
			}
		}
	}
	for id, s := range All[sprout](w) {
		s.Age++
		s.Ratio = float32(w.Random().Float64())
		if s.Age > 60 {
			w.Despawn(id)
		}
	}
	if w.Tick()%7 == 0 && Count[sprout](w) < 40 {
		Spawn(w, sprout{Body: Body{X: float64(w.Random().IntN(80)), Y: float64(w.Random().IntN(80)), Sprite: 2}})
	}
	for _, m := range All[mark](w) {
		m.Count += uint64(len(in))
		m.On = !m.On
	}
}

func testInput(w *World, in *Input) {
	switch in.Kind {
	case Join:
		x, y := float64(5+w.Random().IntN(25)), float64(5+w.Random().IntN(25))
		id := SpawnFor(w, in, walker{Body: Body{X: x, Y: y, Sprite: 1}, Health: 10, Name: in.Name})
		w.Own(in.Player, id)
	case Steer:
		w.Steer(in)
	case Act:
		id, a := Avatar[walker](w, in.Player)
		if a == nil {
			return
		}
		if v, ok := Read[sow](in); ok {
			v.Entity = SpawnFor(w, in, sprout{Body: Body{X: a.X + Cos(float64(v.Angle)), Y: a.Y, Angle: v.Angle, Norm: 0.25, Sprite: 2}, Parent: id})
			if v.Entity == 0 {
				w.Deny(in)
				return
			}
			Done(w, in, v)
		}
		if v, ok := Read[dig](in); ok {
			if v.Deep && a.Health < 5 {
				w.Deny(in)
				return
			}
			w.SetCell(a.X+3, a.Y, v.Value%4)
			Done(w, in, v)
		}
		if v, ok := Read[say](in); ok && v.Text != "" {
			for _, m := range All[mark](w) {
				m.Note = v.Text
			}
			Done(w, in, v)
		}
	}
}

func newSim(t testing.TB, c Config) *Sim {
	t.Helper()
	return newSimOf(t, testGame(), c)
}

// newSimOf makes a world of any game.
func newSimOf(t testing.TB, g Game, c Config) *Sim {
	t.Helper()
	s, err := New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// join brings a player in.
func join(t testing.TB, s *Sim, name string) PlayerID {
	t.Helper()
	p, err := s.Join(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// avatar returns a player's own entity.
func avatar(t testing.TB, s *Sim, p PlayerID) (ID, *walker) {
	t.Helper()
	id, a := Avatar[walker](s.World(), p)
	if a == nil {
		t.Fatalf("player %d has no entity", p)
	}
	return id, a
}

// advance runs n ticks.
func advance(s *Sim, n int) {
	for range n {
		s.Advance()
	}
}

func steer(angle, norm float32) Steering {
	return Steering{Angle: angle, HasAngle: true, Norm: norm, HasNorm: true}
}

// wantReason checks what became of an input.
func wantReason(t testing.TB, what string, got, want Reason) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// events returns those of a kind.
func events(s *Sim, kind EventKind) (list []Event) {
	for _, e := range s.Events() {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}
