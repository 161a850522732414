package arena

import (
	"runtime"
	"testing"

	"parley/internal/kit/chance"
	"parley/world"
)

// heap returns the bytes that live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A small room is an arena with two players and their views.
type smallRoom struct {
	sim     *world.Sim
	players [2]world.PlayerID
	views   [2]*world.View
}

func (r *smallRoom) join(t *testing.T) {
	for i := range r.players {
		p, err := r.sim.Join("somebody")
		if err != nil {
			t.Fatal(err)
		}
		r.players[i], r.views[i] = p, r.sim.NewView(p, world.ViewConfig{})
	}
}

// tick has both players walk about and throw.
func (r *smallRoom) tick() {
	s := r.sim
	for i, p := range r.players {
		angle := float64(s.Tick()/20 + uint64(i))
		s.Steer(p, s.Tick(), world.Steering{HasAngle: true, HasNorm: true, Angle: float32(angle), Norm: PlayerSpeed}, 0)
		if s.Tick()%BallCooldown == 1 {
			s.Act(p, s.Tick(), s.Schema().Action(0), []world.Value{world.FloatValue(world.F32, angle), world.UintValue(world.Entity, 0)}, 0)
		}
	}
	s.Advance()
	for _, v := range r.views {
		v.Update()
		n := v.Open()
		for v.Next() != nil {
			v.Take(32)
		}
		v.Acked(n)
	}
}

func (r *smallRoom) leave() {
	for i, p := range r.players {
		r.views[i].Close()
		r.views[i] = nil
		r.sim.Leave(p)
	}
	for range BallLifespan {
		r.sim.Advance()
	}
}

// "An empty room sleeps and costs … at most 256 KiB", of which the world may have 160; one with two players at most 400.
func TestSizeOfASmallRoom(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	const rooms = 100
	before := heap()
	each := func(what string, most int64) {
		t.Helper()
		size := (heap() - before) / rooms
		t.Logf("%s: %d KiB", what, size>>10)
		if size > most<<10 {
			t.Errorf("%s: %d KiB, and %d is the limit", what, size>>10, most)
		}
	}
	list := make([]smallRoom, rooms)
	for i := range list {
		sim, err := world.New(Game(), world.Config{Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		list[i].sim = sim
	}
	each("an arena that nobody has entered", 80)
	for i := range list {
		list[i].join(t)
		for range 200 {
			list[i].tick()
		}
	}
	each("with two players", 400)
	for i := range list {
		list[i].leave()
		list[i].sim.Rest()
	}
	each("that rests", 80)
	for i := range list {
		list[i].join(t)
		list[i].tick()
		if list[i].sim.Players() != 2 {
			t.Fatal("nobody came")
		}
	}
	runtime.KeepAlive(list)
}

// A room that was large is small when it rests: of some 19,000 balls nothing is left, and no number is remembered.
func TestSizeOfARoomThatWasLarge(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	before := heap()
	s, err := world.New(Game(), world.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []world.PlayerID
	for range 150 {
		p, err := s.Join("somebody")
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, p)
	}
	for s.Tick() < 1300 {
		for i, p := range players {
			if (int(s.Tick())+i)%BallCooldown == 0 {
				s.Act(p, s.Tick(), s.Schema().Action(0), []world.Value{world.FloatValue(world.F32, float64(i)), world.UintValue(world.Entity, 0)}, 0)
			}
		}
		s.Advance()
	}
	t.Logf("a snapshot has %d bytes", len(s.AppendSnapshot(nil)))
	large := heap() - before
	for _, p := range players {
		s.Leave(p)
	}
	s.Advance()
	s.Rest()
	small := heap() - before
	t.Logf("%d KiB with %d players, %d KiB when it rests", large>>10, len(players), small>>10)
	// The state before each tick that can be rewound to is kept.
	if small > large/2 {
		t.Errorf("%d KiB with %d players, and %d KiB when it rests", large>>10, len(players), small>>10)
	}
	for range 30 {
		s.Advance()
	}
	s.Rest()
	if small = heap() - before; small > 160<<10 {
		t.Errorf("%d KiB when it rests a second later", small>>10)
	}
	t.Logf("%d KiB a second later", small>>10)
	runtime.KeepAlive(s)
}
