package world

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The game of the benchmarks: as many movers as it is given, half of them
// players' own, on terrain with walls.

type mover struct {
	Body   `parley:"speed=2,cap=8192"`
	Health int16
	Target ID
	Name   string
	wait   uint32
}

func moverGame(entities int) Game {
	return Game{
		Name:      "movers",
		Kinds:     Kinds(mover{}),
		Actions:   Actions(sow{}),
		Terrain:   testTerrain,
		CellTypes: []Cell{{}, {Solid: true}},
		Hitboxes:  []Hitbox{1: Circle(0.4)},
		Setup: func(w *World) {
			for range entities {
				Spawn(w, newMover(w))
			}
		},
		Step: func(w *World, in []Input) {
			for i := range in {
				switch in[i].Kind {
				case Join:
					// A player takes over one that nobody has.
					for id := range All[mover](w) {
						if w.Owner(id) == 0 {
							w.Own(in[i].Player, id)
							break
						}
					}
				case Steer:
					w.Steer(&in[i])
				}
			}
			w.MoveAll()
			for _, m := range All[mover](w) {
				m.wait++
				if m.wait%16 == 0 {
					m.Angle = float32(w.Random().Float64() * 6)
					m.Health++
				}
			}
		},
	}
}

func newMover(w *World) mover {
	r := w.Random()
	return mover{
		Body: Body{X: r.Float64()*1000 - 500, Y: r.Float64()*1000 - 500, Angle: float32(r.Float64() * 6), Norm: 0.5, Sprite: 1},
		wait: uint32(r.IntN(16)), Name: "mover",
	}
}

// newMovers makes a world of movers and players with views.
func newMovers(t testing.TB, entities, players int, c ViewConfig) (*Sim, []PlayerID, []*View) {
	return moversOf(t, moverGame(entities), players, c)
}

// moversOf is newMovers of a game of its own.
func moversOf(t testing.TB, g Game, players int, c ViewConfig) (*Sim, []PlayerID, []*View) {
	s := newSimOf(t, g, Config{Seed: 1})
	var ids []PlayerID
	var views []*View
	for i := range players {
		p := join(t, s, fmt.Sprint("player", i))
		ids, views = append(ids, p), append(views, s.NewView(p, c))
	}
	advance(s, 30)
	return s, ids, views
}

// drain takes all that a view offers, in packets of 1,200 bytes, each change as
// large as stamp would write it.
func drain(v *View) int {
	v.Update()
	room, taken := 0, 0
	for c := v.Next(); c != nil; c = v.Next() {
		if room < 48 {
			room = 1200
			if n := v.Open(); n > 4 {
				v.Acked(n - 4)
			}
		}
		size := 4
		for f := range Fields(c.Mask) {
			size += c.Value(f).Type.Bytes()
		}
		room -= size
		v.Take(size)
		taken++
	}
	return taken
}

// 1,000 bodies, and 200 players who each ask who was near, at one of the five ticks that are believed.
func BenchmarkAt(b *testing.B) {
	g := moverGame(1000)
	step := g.Step
	found := 0
	g.Step = func(w *World, in []Input) {
		step(w, in)
		for i := range in {
			if _, m := Avatar[mover](w, in[i].Player); m != nil {
				for range w.At(in[i].Shown).Near(m.X, m.Y, 20) {
					found++
				}
			}
		}
	}
	for name, back := range map[string]uint64{"now": 0, "past": 5} {
		b.Run(name, func(b *testing.B) {
			s := newSimOf(b, g, Config{Seed: 1})
			var players []PlayerID
			for range 200 {
				players = append(players, join(b, s, "p"))
			}
			advance(s, 30)
			b.ReportAllocs()
			for b.Loop() {
				for i, p := range players {
					shown := uint64(0)
					if back != 0 {
						shown = s.Tick() - 1 - uint64(i)%back
					}
					s.SteerShown(p, s.Tick(), shown, steer(float32(i), 0.5), 0)
				}
				s.Advance()
			}
		})
	}
	if found == 0 {
		b.Error("nobody is near")
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 0, ViewConfig{})
	var snap snapshot
	b.ReportAllocs()
	for b.Loop() {
		s.world.save(&snap)
	}
}

func BenchmarkRestore(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 0, ViewConfig{})
	var snap snapshot
	s.world.save(&snap)
	b.ReportAllocs()
	for b.Loop() {
		s.world.load(&snap)
	}
}

func BenchmarkHash(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 0, ViewConfig{})
	b.ReportAllocs()
	for b.Loop() {
		s.world.Hash()
	}
}

// A tick of 1,000 moving entities with 200 players who all steer: snapshot, step,
// publication.
func BenchmarkTick(b *testing.B) { benchmarkTick(b, 0) }

// The same with someone who is always as late as may be.
func BenchmarkTickRewinding20(b *testing.B) { benchmarkTick(b, 20) }

func benchmarkTick(b *testing.B, late uint64) {
	s, players, _ := newMovers(b, 1000, 200, ViewConfig{})
	tick := func() {
		for i, p := range players {
			s.Steer(p, s.Tick()-late, steer(float32(i), 0.5), 0)
		}
		s.Advance()
	}
	for range 60 {
		tick()
	}
	b.ReportAllocs()
	for b.Loop() {
		tick()
	}
}

// The same with a log: what it takes more than BenchmarkTick is making the entries, and the hash in each.
func BenchmarkTickKept(b *testing.B) {
	s, players, _ := newMovers(b, 1000, 200, ViewConfig{})
	s.Keep(1, 1)
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		for i, p := range players {
			s.Steer(p, s.Tick(), steer(float32(i), 0.5), 0)
		}
		size = len(s.Seal(0, 0))
		s.Advance()
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkAppendSnapshot(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 200, ViewConfig{})
	var file []byte
	b.ReportAllocs()
	for b.Loop() {
		file = s.AppendSnapshot(file[:0])
	}
	b.ReportMetric(float64(len(file)), "bytes")
}

func BenchmarkLoad(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 200, ViewConfig{})
	file := s.AppendSnapshot(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Load(s.game, bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkViews(b *testing.B) {
	for _, bb := range []struct {
		name string
		c    ViewConfig
	}{
		{"sight=128", ViewConfig{BytesPerTick: 1200}},
		{"sight=all", ViewConfig{BytesPerTick: 1200, Radius: -1}},
		{"sight=128,unbounded", ViewConfig{BytesPerTick: -1}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s, _, views := newMovers(b, 1000, 200, bb.c)
			taken, seen := 0, 0
			tell := func() {
				for _, v := range views {
					taken += drain(v)
					seen += len(v.entries.list)
				}
			}
			for range 100 {
				s.Advance()
				tell()
			}
			taken, seen = 0, 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s.Advance()
				b.StartTimer()
				tell()
			}
			b.ReportMetric(float64(taken)/float64(b.N), "changes/op")
			b.ReportMetric(float64(seen)/float64(b.N)/200, "in-sight")
		})
	}
}

// The game of T56's bar: so many players who stand apart, each in sight of itself alone, and turn.
type holder struct {
	Body `parley:"speed=1"`
}

func newHolders(t testing.TB, players int, c ViewConfig) (*Sim, []PlayerID, []*View) {
	s, err := New(Game{Name: "holders", Kinds: Kinds(holder{}), Step: func(w *World, in []Input) {
		for i := range in {
			switch in := &in[i]; in.Kind {
			case Join:
				w.Own(in.Player, SpawnFor(w, in, holder{Body{X: float64(in.Player%64) * 64, Y: float64(in.Player/64) * 64}}))
			case Steer:
				w.Steer(in)
			}
		}
	}}, Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var ids []PlayerID
	var views []*View
	for range players {
		p := join(t, s, "holder")
		ids, views = append(ids, p), append(views, s.NewView(p, c))
	}
	return s, ids, views
}

// tellHeld takes what a view offers. Packets are as relay's gateway has them: no acks, and
// lost after a second.
func tellHeld(v *View) {
	v.Update()
	for c := v.Next(); c != nil; c = v.Next() {
		if v.config.Reliable {
			v.Take(14)
			continue
		}
		if n := v.Open(); n > 20 {
			v.Lost(n - 20)
		}
		v.Take(14)
	}
}

// What a tick of 2,000 such players takes, the step and the views apart.
func BenchmarkHold(b *testing.B) {
	for _, bb := range []struct {
		name string
		c    ViewConfig
	}{
		{"relay", ViewConfig{Radius: 16}},
		{"realm", ViewConfig{Radius: 16, BytesPerTick: -1, Reliable: true, PredictTicks: 20}},
		{"duplex", ViewConfig{Radius: 16, BytesPerTick: -1, Reliable: true, SightOnly: true}},
	} {
		for _, part := range []string{"step", "views"} {
			b.Run(bb.name+"/"+part, func(b *testing.B) { benchmarkHold(b, bb.c, part == "step") })
		}
	}
}

func benchmarkHold(b *testing.B, c ViewConfig, ofStep bool) {
	const players = 2000
	s, ids, views := newHolders(b, players, c)
	order := rand.New(rand.NewPCG(1, 2)).Perm(players) // nobody waits for the others
	turn := float32(0)
	step := func() {
		turn = float32(int(turn+1) % 6) // as clients have it: less than a turn
		for _, i := range order {
			s.Steer(ids[i], s.Tick(), steer(turn, 0), 0)
		}
		s.Advance()
	}
	tell := func() {
		for _, v := range views {
			tellHeld(v)
		}
	}
	timed, other := tell, step
	if ofStep {
		timed, other = step, tell
	}
	for range 60 {
		step()
		tell()
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		other()
		b.StartTimer()
		timed()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/players, "ns/player")
}

// Where a tick goes.
func BenchmarkPublish(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 200, ViewConfig{})
	b.ReportAllocs()
	for b.Loop() {
		s.publish()
	}
}

func BenchmarkMoveAll(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 0, ViewConfig{})
	b.ReportAllocs()
	for b.Loop() {
		s.world.MoveAll()
	}
}

func BenchmarkSinCos(b *testing.B) {
	sum, x := 0.0, 0.0
	for b.Loop() {
		s, c := SinCos(x)
		sum += s + c
		x += 0.001
	}
	if sum == 1 {
		b.Fatal()
	}
}

// BenchmarkRound moves and rounds: what it takes more than BenchmarkMoveAll is the end of a step with 1,000 quantised bodies.
func BenchmarkRound(b *testing.B) {
	s, _, _ := newMovers(b, 1000, 0, ViewConfig{})
	k := s.schema.Kinds[0]
	t := tag{step: 1.0 / 256, low: "-8000000", high: "8000000", turns: 256, norm: 1.0 / 64}
	if err := k.takeQuants(&t); err != nil {
		b.Fatal(err)
	}
	var before snapshot
	b.ReportAllocs()
	for b.Loop() {
		s.world.save(&before)
		s.world.MoveAll()
		s.world.settle(&before)
	}
}
