package world_test

import (
	"math"
	"testing"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/world"
)

// mirror feeds a Guess with what a server's world says, as a client is told it: by number and value.
type mirror struct {
	game   world.Game
	sim    *world.Sim
	guess  *world.Guess
	values []world.Value
}

// tell puts all entities of the server, and drops those that are gone.
func (m *mirror) tell(t testing.TB) {
	t.Helper()
	w := m.sim.World()
	for id, k := range w.Entities() {
		m.values = m.values[:0]
		for i := range k.Fields {
			v, _ := w.Value(id, i)
			if v.Type == world.Entity {
				v = world.UintValue(world.Entity, uint64(m.sim.Wire(world.ID(v.Uint()))))
			}
			m.values = append(m.values, v)
		}
		if !m.guess.Put(m.sim.Wire(id), k, m.values) {
			t.Fatalf("%v of kind %s is refused", id, k.Name)
		}
	}
	for id := range m.guess.World().Entities() {
		wire, ok := m.guess.Wire(id)
		if ok && m.sim.ByWire(wire) == 0 {
			m.guess.Drop(wire)
		}
	}
}

// A client that knows all entities and its own inputs alone computes what the server does, to the bit: told every few ticks, it goes back
// to the truth and runs its newer inputs again.
func TestAGuessIsWhatTheServerComputes(t *testing.T) {
	for _, seed := range chance.Seeds(6) {
		guessAhead(t, seed)
	}
}

func guessAhead(t *testing.T, seed uint64) {
	t.Logf("seed=%d", seed)
	r := chance.Rand(t, seed)
	m := newMirror(t, seed)
	ann, _ := m.sim.Join("ann")
	m.sim.Advance()
	far := []world.PlayerID{ann}
	for range 3 {
		p, _ := m.sim.Join("other")
		far = append(far, p)
	}
	m.sim.Advance()
	// Each has a corner of the arena of its own.
	for i, p := range far {
		id, _ := world.Avatar[arena.Player](m.sim.World(), p)
		m.sim.World().Place(id, float64(-256+512*(i%2)), float64(-256+512*(i/2)))
	}
	own, _ := world.Avatar[arena.Player](m.sim.World(), ann)
	wire := m.sim.Wire(own)
	m.guess.Own(wire)
	steers := map[uint64]world.Steering{} // by tick
	const lead = 6
	told, compared := m.sim.Tick()-1, 0
	m.guess.Back(told)
	m.tell(t)
	for range 300 {
		// The client steers at its own tick, which is ahead of the server's.
		at := m.sim.Tick() + lead
		if r.IntN(5) == 0 {
			steers[at] = world.Steering{HasAngle: true, HasNorm: true, Angle: r.Float32() * 6, Norm: r.Float32() * arena.PlayerSpeed}
		}
		for m.guess.Tick() <= at {
			if st, ok := steers[m.guess.Tick()]; ok && !m.guess.Steer(st) {
				t.Fatal("refused")
			}
			if err := m.guess.Run(); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range far {
			st := world.Steering{HasAngle: true, HasNorm: true, Angle: r.Float32(), Norm: .1}
			if p == ann {
				var ok bool
				if st, ok = steers[m.sim.Tick()]; !ok {
					continue
				}
			}
			m.sim.Steer(p, m.sim.Tick(), st, 0)
		}
		m.sim.Advance()
		if r.IntN(3) != 0 {
			continue
		}
		tick := m.sim.Tick() - 1
		if !m.guess.Back(tick) {
			t.Fatalf("tick %d is not known, and %d is next", tick, m.guess.Tick())
		}
		got, want := m.guess.World().Body(world.ID(wire)), m.sim.World().Body(own)
		if got.X != want.X || got.Y != want.Y || got.Angle != want.Angle || got.Norm != want.Norm {
			t.Fatalf("tick %d: (%v, %v) at the client, (%v, %v) at the server", tick, got.X, got.Y, want.X, want.Y)
		}
		compared++
		m.tell(t)
	}
	if compared < 50 {
		t.Errorf("compared %d times", compared)
	}
}

func newMirror(t testing.TB, seed uint64) *mirror {
	t.Helper()
	return mirrorOf(t, arena.Game(), seed)
}

func mirrorOf(t testing.TB, game world.Game, seed uint64) *mirror {
	t.Helper()
	c := world.Config{Seed: seed}
	sim, err := world.New(game, c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := world.NewGuess(game, c)
	if err != nil {
		t.Fatal(err)
	}
	return &mirror{game: game, sim: sim, guess: g}
}

// What an action creates is there at once, and becomes the server's entity under the same ID.
func TestAGuessAdoptsWhatItCreated(t *testing.T) {
	m := newMirror(t, 7)
	ann, _ := m.sim.Join("ann")
	m.sim.Advance()
	own, _ := world.Avatar[arena.Player](m.sim.World(), ann)
	m.sim.World().Place(own, 0, 0)
	m.guess.Own(m.sim.Wire(own))
	m.guess.Back(m.sim.Tick() - 1)
	m.tell(t)
	throw := []world.Value{world.FloatValue(world.F32, 0), world.UintValue(world.Entity, world.TempEntity)}
	if !m.guess.Act(m.sim.Schema().Action(0), throw, 0) {
		t.Fatal("refused")
	}
	if err := m.guess.Run(); err != nil {
		t.Fatal(err)
	}
	why, born := m.guess.Outcome(0)
	if why != world.Accepted || world.Get[arena.Ball](m.guess.World(), born) == nil {
		t.Fatalf("%v, %v", why, born)
	}
	if _, ok := m.guess.Wire(born); ok {
		t.Fatal("it is the server's already")
	}
	tick := m.sim.Tick()
	m.sim.Act(ann, tick, m.sim.Schema().Action(0), throw, 0)
	m.sim.Advance()
	var ball uint16
	for id := range world.All[arena.Ball](m.sim.World()) {
		ball = m.sim.Wire(id)
	}
	m.guess.Run() // ahead of what is told
	m.tell(t)     // it was told before it was known to be the same
	m.guess.Adopt(born, ball)
	if world.Count[arena.Ball](m.guess.World()) != 1 || m.guess.ID(ball) != born {
		t.Fatalf("%d balls, %v and %v", world.Count[arena.Ball](m.guess.World()), m.guess.ID(ball), born)
	}
	if !m.guess.Back(tick) {
		t.Fatal("not known")
	}
	m.tell(t)
	got, n := world.Get[arena.Ball](m.guess.World(), born), world.Count[arena.Ball](m.guess.World())
	if n != 1 || got.Sender != m.guess.ID(m.sim.Wire(own)) || m.guess.World().Owner(born) != world.OwnPlayer {
		t.Fatalf("%d balls, %+v of %v", n, got, m.guess.World().Owner(born))
	}
	m.guess.Run()
	m.guess.Drop(ball)
	m.guess.Back(tick)
	if world.Count[arena.Ball](m.guess.World()) != 0 {
		t.Error("what is gone comes back from the past")
	}
	// The number comes into sight again.
	m.tell(t)
	if world.Get[arena.Ball](m.guess.World(), born) == nil || world.Count[arena.Ball](m.guess.World()) != 1 {
		t.Error("it is not the same again")
	}
}

// A frame of what others do, and a tick that goes back, allocate nothing.
func TestAGuessAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	m := newMirror(t, 3)
	var players []world.PlayerID
	for range 40 {
		p, _ := m.sim.Join("x")
		players = append(players, p)
	}
	m.sim.Advance()
	own, _ := world.Avatar[arena.Player](m.sim.World(), players[0])
	m.guess.Own(m.sim.Wire(own))
	frame := newMirror(t, 3).guess
	throw := []world.Value{world.FloatValue(world.F32, 1), world.UintValue(world.Entity, world.TempEntity)}
	action := m.sim.Schema().Action(0)
	turn := func() {
		m.guess.Back(m.guess.Tick() - 4)
		m.tell(t)
		for range 4 {
			m.guess.Steer(world.Steering{HasAngle: true, HasNorm: true, Angle: 1, Norm: 1})
			m.guess.Act(action, throw, 0)
			if err := m.guess.Run(); err != nil {
				t.Fatal(err)
			}
		}
		for id := range m.guess.World().Entities() {
			if !frame.CopyFrom(m.guess, id) {
				t.Fatal("no room")
			}
			frame.World().Body(id).X += .5
		}
		for id := range frame.World().Entities() {
			if !m.guess.World().Exists(id) {
				frame.World().Despawn(id)
			}
		}
	}
	for range 200 {
		turn()
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What a hostile server tells is refused or bounded.
func TestAGuessBearsWithAHostileServer(t *testing.T) {
	m := newMirror(t, 3)
	g, schema := m.guess, m.sim.Schema()
	player, ball := schema.Kind(1), schema.Kind(2)
	zeros := func(k *world.Kind) (list []world.Value) {
		for _, f := range k.Fields {
			list = append(list, world.UintValue(f.Type, 0))
		}
		return list
	}
	nan := zeros(player)
	nan[0] = world.FloatValue(world.F64, math.NaN())
	for _, tt := range []struct {
		name   string
		wire   uint16
		kind   *world.Kind
		values []world.Value
		want   bool
	}{
		{"number 0", 0, player, zeros(player), false},
		{"a number that is none", world.MaxEntity + 1, player, zeros(player), false},
		{"the last number", world.MaxEntity, player, zeros(player), true},
		{"no kind", 1, nil, nil, false},
		{"too few values", 1, player, zeros(player)[1:], false},
		{"values of another kind", 1, player, zeros(ball), false},
		{"not a number", 1, player, nan, false},
		{"nothing but zero values", 1, player, make([]world.Value, len(player.Fields)), true},
		{"another kind under the same number", 1, ball, zeros(ball), true},
	} {
		if got := g.Put(tt.wire, tt.kind, tt.values); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if g.World().KindOf(1).Name != "ball" || g.World().Exists(0) {
		t.Error("the kind")
	}
	there := 0
	for wire := uint16(1); wire <= world.MaxEntity; wire++ {
		if g.Put(wire, player, zeros(player)) {
			there++
		}
	}
	if there > player.Cap() || there < 1000 {
		t.Errorf("%d players", there)
	}
	for range 100 {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	for wire := uint16(1); wire <= world.MaxEntity; wire++ {
		g.Drop(wire)
	}
	g.Back(90)
	for id := range g.World().Entities() {
		t.Errorf("%v is left", id)
	}
}

// crowd is a mirror of some players of the arena, who all walk.
func crowd(t testing.TB, players int) *mirror {
	t.Helper()
	game, err := arena.Game().Prepare()
	if err != nil {
		t.Fatal(err)
	}
	m := mirrorOf(t, game, 3)
	for range players {
		if _, err := m.sim.Join("x"); err != nil {
			t.Fatal(err)
		}
	}
	m.sim.Advance()
	for _, p := range world.All[arena.Player](m.sim.World()) {
		p.Norm = 1
	}
	m.guess.Own(1)
	m.guess.Back(m.sim.Tick() - 1)
	m.tell(t)
	return m
}

// A fate: back by 6 ticks, 200 players put, and 6 ticks run again.
func BenchmarkGuessFate(b *testing.B) {
	m := crowd(b, 200)
	for range 70 {
		m.guess.Run()
	}
	b.ReportAllocs()
	for b.Loop() {
		m.guess.Back(m.guess.Tick() - 6)
		m.tell(b)
		for range 6 {
			m.guess.Run()
		}
	}
}

// A frame's copy of 200 players.
func BenchmarkGuessCopy(b *testing.B) {
	m := crowd(b, 200)
	frame, _ := world.NewGuess(m.game, world.Config{})
	b.ReportAllocs()
	for b.Loop() {
		for id := range m.guess.World().Entities() {
			frame.CopyFrom(m.guess, id)
		}
	}
}
