package tui

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/arena"
	"parley/world"
)

var update = flag.Bool("update", false, "write the screens in testdata anew")

// stage is a game that is drawn.
type stage struct {
	*testing.T
	sim   *world.Sim
	own   world.PlayerID
	names map[world.ID]string
	*Screen
}

func newStage(t *testing.T, g world.Game, seed uint64) *stage {
	t.Helper()
	sim, err := world.New(g, world.Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, sim: sim, names: map[world.ID]string{}, Screen: New(sim.Schema())}
	s.Resize(80, 24)
	return s
}

// join has a player join; the first is the own one.
func (s *stage) join(name string) (world.PlayerID, world.ID) {
	s.Helper()
	p, err := s.sim.Join(name)
	if err != nil {
		s.Fatal(err)
	}
	s.sim.Advance()
	if s.own == 0 {
		s.own = p
	}
	player, _ := s.sim.World().Player(p)
	s.names[player.Entity] = name
	return p, player.Entity
}

// look shows the world as it is.
func (s *stage) look() {
	player, _ := s.sim.World().Player(s.own)
	s.See(Scene{World: s.sim.World(), Own: player.Entity, Tick: float64(s.sim.Tick()), Name: func(id world.ID) string { return s.names[id] }, Line: "replica 127.0.0.1:7000"})
}

// run runs ticks, and looks after each.
func (s *stage) run(ticks int) {
	for range ticks {
		s.sim.Advance()
		s.look()
	}
}

// do has the own player do what a key asks for.
func (s *stage) do(key string) Command {
	s.Helper()
	c := s.Key(key)
	switch c.Kind {
	case Steer:
		s.sim.Steer(s.own, s.sim.Tick(), world.Steering{Angle: c.Angle, HasAngle: true, Norm: c.Norm, HasNorm: true}, 0)
	case Act:
		s.sim.Act(s.own, s.sim.Tick(), c.Action, c.Params, 0)
	}
	return c
}

// wants compares the screen, without its colours, with a file.
func (s *stage) wants(name string) {
	s.Helper()
	got := plainScreen(s.Screen)
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	if got != string(want) {
		s.Errorf("%s: the screen is\n%s\nwant\n%s\nIf it is meant to be so: go test ./program/tui -update", name, got, want)
	}
}

// plainScreen returns the screen without colours and without spaces at the ends of lines.
func plainScreen(s *Screen) string {
	lines := strings.Split(ansi.Strip(s.Draw()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// fits fails if the screen is not as large as the terminal.
func (s *stage) fits(columns, rows int) {
	s.Helper()
	lines := strings.Split(s.Draw(), "\n")
	if len(lines) != rows {
		s.Errorf("%d by %d: %d lines", columns, rows, len(lines))
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > columns {
			s.Errorf("%d by %d: line %d is %d wide: %q", columns, rows, i, w, l)
		}
	}
}

// The arena: walls, others with their names, balls, the score and what is said. The own player walks by keys, throws at the
// nearest, and reads of hits and deaths.
func TestTheArena(t *testing.T) {
	s := newStage(t, arena.Game(), 7)
	s.join("ann")
	_, bob := s.join("bob")
	s.join("eve")
	s.look()
	s.Hear("bob", "hello")
	s.wants("arena")
	own, _ := s.sim.World().Player(s.own)
	before := *s.sim.World().Body(own.Entity)
	if c := s.do("right"); c.Kind != Steer || c.Angle != 0 || c.Norm != arena.PlayerSpeed {
		t.Fatalf("%+v", c)
	}
	s.run(10)
	if b := s.sim.World().Body(own.Entity); b.X != before.X+10*arena.PlayerSpeed || b.Y != before.Y {
		t.Errorf("it walks from (%v, %v) to (%v, %v)", before.X, before.Y, b.X, b.Y)
	}
	if c := s.do("x"); c.Kind != Steer || c.Norm != 0 {
		t.Errorf("%+v", c)
	}
	for range 7 { // bob dies
		for range arena.BallCooldown + 2 {
			s.sim.World().Place(own.Entity, -60, 0)
			if b := s.sim.World().Body(bob); b.X != 0 {
				s.sim.World().Place(bob, 0, 0)
			}
			s.run(1)
		}
		s.do("t")
		s.run(2)
	}
	s.wants("arena-hits")
	text := plainScreen(s.Screen)
	for _, want := range []string{"others 1", "bob was hit: 20 left", "bob died and began a new life"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.Resize(120, 40)
	s.look()
	s.wants("arena-large")
	s.Resize(30, 9)
	s.wants("arena-small")
}

// Whatever the size of the terminal, the screen has it.
func TestSizes(t *testing.T) {
	s := newStage(t, arena.Game(), 3)
	for _, name := range []string{"ann", "bøb", "王小明王小明王小明", strings.Repeat("e\u0301", 40), "👩\u200d👧", "\x1b[2J"} {
		s.join(name)
	}
	for _, text := range []string{strings.Repeat("long ", 100), "\x1b]0;x\a", strings.Repeat("王", 200)} {
		s.Hear(text, text)
		s.Tell(text)
	}
	for rows := range 30 {
		for _, columns := range []int{0, 1, 2, 3, 7, 19, 40, 80, 81, 200} {
			for _, typing := range []bool{false, true} {
				s.typing, s.typed = typing, strings.Repeat("王e", 60)
				s.Resize(columns, rows)
				s.look()
				if columns > 0 && rows > 0 {
					s.fits(columns, rows)
					if c, r, ok := s.Cursor(); ok && (c < 0 || c >= columns || r != rows-1) {
						t.Errorf("%d by %d: the cursor is at %d, %d", columns, rows, c, r)
					}
				} else if s.Draw() != "" {
					t.Errorf("%d by %d: something is drawn", columns, rows)
				}
			}
		}
	}
	if strings.Contains(ansi.Strip(s.Draw()), "\x1b") {
		t.Error("a name can write sequences")
	}
}

type flagBearer struct {
	world.Body `parley:"speed=0.25"`
	Name       string
	Score      int32
}

type match struct {
	Red, Blue uint8
	Left      uint16
}

type drop struct{}

type give struct{ To world.ID }

type speak struct{ Word string }

// Another game: its own names, score and match are shown, its actions have keys, and its scale is its own.
func TestAnotherGame(t *testing.T) {
	g := world.Game{
		Name: "flags", Kinds: world.Kinds(flagBearer{}, match{}), Actions: world.Actions(drop{}, give{}, speak{}),
		Setup: func(w *world.World) { world.Spawn(w, match{Red: 2, Blue: 1, Left: 90}) },
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				switch in[i].Kind {
				case world.Join:
					n := float64(world.Count[flagBearer](w))
					w.Own(in[i].Player, world.SpawnFor(w, &in[i], flagBearer{Body: world.Body{X: 3 * n, Y: n}, Name: fmt.Sprint("no ", n), Score: int32(n) - 1}))
				case world.Steer:
					w.Steer(&in[i])
				}
			}
			for _, b := range world.All[flagBearer](w) {
				w.Move(&b.Body)
			}
		},
		Terrain: func(_ uint64, bx, by int16, cells *world.Cells) {
			for x := range world.ChunkSide {
				cells[5*world.ChunkSide+x] = 1
			}
		},
		CellTypes: []world.Cell{1: {Solid: true}},
	}
	s := newStage(t, g, 1)
	s.join("ann")
	_, bob := s.join("bob")
	s.join("eve")
	clear(s.names)
	s.look()
	s.wants("another-game")
	if keys := ActionKeys(s.schema); fmt.Sprint(keys) != "[r g p]" {
		t.Errorf("the keys are %v", keys)
	}
	if c := s.Key("r"); c.Kind != Act || c.Action.Name != "drop" || len(c.Params) != 0 {
		t.Errorf("%+v", c)
	}
	if c := s.Key("g"); c.Kind != Act || c.Action.Name != "give" || c.Params[0].Uint() != uint64(bob) {
		t.Errorf("%+v", c)
	}
	if c := s.Key("p"); c.Kind != Act || len(c.Params) != 1 || c.Params[0].Type != world.Text {
		t.Errorf("%+v", c)
	}
	s.own = 999 // nobody: a spectator sees all
	s.look()
	if text := plainScreen(s.Screen); strings.Count(text, "no ") != 3 || !strings.Contains(text, "watching") {
		t.Errorf("a spectator sees\n%s", text)
	}
	if c := s.Key("up"); c.Kind != Nothing {
		t.Errorf("%+v", c)
	}
}

// What is typed is said, and with a slash it is a command.
func TestTyping(t *testing.T) {
	s := newStage(t, arena.Game(), 1)
	types := func(keys ...string) (last Command) {
		for _, k := range keys {
			last = s.Key(k)
		}
		return last
	}
	for _, tt := range []struct {
		name string
		keys []string
		want Command
	}{
		{"a line", []string{"enter", "h", "i", "space", "q", "enter"}, Command{Kind: Say, Text: "hi q"}},
		{"nothing", []string{"enter", "space", "enter"}, Command{}},
		{"a correction", []string{"enter", "h", "ö", "backspace", "i", "enter"}, Command{Kind: Say, Text: "hi"}},
		{"away with it", []string{"enter", "h", "ctrl+u", "i", "enter"}, Command{Kind: Say, Text: "i"}},
		{"given up", []string{"enter", "h", "esc", "q"}, Command{Kind: Quit}},
		{"a command", []string{"/", "m", "a", "p", "enter"}, Command{Kind: Line, Text: "map"}},
		{"an arrow", []string{"enter", "h", "up", "f1", "enter"}, Command{Kind: Say, Text: "h"}},
		{"the end", []string{"enter", "h", "ctrl+c"}, Command{Kind: Quit}},
	} {
		s.typing, s.typed = false, ""
		if got := types(tt.keys...); got.Kind != tt.want.Kind || got.Text != tt.want.Text {
			t.Errorf("%s: it is %+v, want %+v", tt.name, got, tt.want)
		}
	}
	s.typing, s.typed = false, ""
	s.Paste("no line is typed")
	types("enter")
	s.Paste("a\nb\x1b[2J" + strings.Repeat("x", 1000))
	if got := types("enter"); !strings.HasPrefix(got.Text, "a·b·[2Jx") || len(got.Text) > maxTyped {
		t.Errorf("pasted: %q", got.Text)
	}
}

// A server that talks and hits all day costs no more than one that does so for a minute.
func TestAHostileServerFillsNothing(t *testing.T) {
	s := newStage(t, arena.Game(), 1)
	s.join("ann")
	for i := range 10 * maxLines {
		s.Hear(strings.Repeat("x", 1<<12), strings.Repeat("é", 1<<12))
		if i < 200 {
			s.join(fmt.Sprint(i))
		}
	}
	w := s.sim.World()
	for n := range 50 {
		for _, p := range world.All[arena.Player](w) {
			p.Health = uint16(50 + n%2*50)
		}
		s.look()
	}
	for id := range world.All[arena.Player](w) {
		w.Despawn(id)
	}
	s.look()
	if len(s.lines) > maxLines || len(s.lives) != 0 {
		t.Errorf("%d lines, %d lives", len(s.lines), len(s.lives))
	}
	for _, l := range s.lines {
		if len(l.text) > 3*maxLineBytes {
			t.Errorf("a line of %d bytes", len(l.text))
		}
	}
	for _, v := range []float64{math.Inf(1), math.NaN(), 1e300, -1e300} {
		c := camera{cells: minCells}
		if column, row := c.at(v, v, 80, 24); max(column, -column, row, -row) > 1<<20 {
			t.Errorf("%v is at %d, %d", v, column, row)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		b.Fatal(err)
	}
	for range 200 {
		sim.Join("x")
	}
	sim.Advance()
	s := New(sim.Schema())
	s.Resize(200, 60)
	own, _ := sim.World().Player(1)
	for b.Loop() {
		s.See(Scene{World: sim.World(), Own: own.Entity, Tick: 1})
		s.Draw()
	}
}

// Each kind has a sign of its own, also where a name has no letter left.
func TestEachKindHasASignOfItsOwn(t *testing.T) {
	type Ball struct{ world.Body }
	type Shot struct{ world.Body }
	type Bat struct{ world.Body }
	type Bab struct{ world.Body }
	type Ab struct{ world.Body }
	g := world.Game{Kinds: world.Kinds(Ball{}, Shot{}, Bat{}, Bab{}, Ab{}), Step: func(*world.World, []world.Input) {}}
	schema, err := g.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var got []rune
	for _, k := range schema.Kinds {
		got = append(got, Sign(schema, k))
	}
	if string(got) != "oSBA?" {
		t.Errorf("the signs are %s", string(got))
	}
}
