package arena

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"parley/internal/kit/chance"
	"parley/world"
)

func newArena(t testing.TB) *world.Sim {
	t.Helper()
	sim, err := world.New(Game(), world.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return sim
}

func join2(t testing.TB, sim *world.Sim) (a, b world.PlayerID, pa, pb *Player) {
	t.Helper()
	a, _ = sim.Join("ann")
	b, _ = sim.Join("bob")
	sim.Advance()
	_, pa = world.Avatar[Player](sim.World(), a)
	_, pb = world.Avatar[Player](sim.World(), b)
	if pa == nil || pb == nil {
		t.Fatal("no entity")
	}
	return a, b, pa, pb
}

func throwAt(sim *world.Sim, p world.PlayerID, angle float64) world.Reason {
	return sim.Act(p, sim.Tick(), sim.Schema().Action(0), []world.Value{world.FloatValue(world.F32, angle), world.UintValue(world.Entity, world.TempEntity)}, 0)
}

// "attributes 0 ticks_left, 1 health, 30000 cooldown_one are u16, 2 sender is an
// entity; action 0 is angle f32, entity entity": the schema of realm's vectors.
func TestTheSchemaIsThatOfTheVectors(t *testing.T) {
	schema := newArena(t).Schema()
	type attribute struct {
		kind, name string
		typ        world.Type
	}
	got := map[uint16]attribute{}
	for _, k := range schema.Kinds {
		for _, f := range k.Fields {
			if !f.InBody {
				got[f.Attr] = attribute{k.Name, f.Name, f.Type}
			}
		}
	}
	want := map[uint16]attribute{
		0: {"ball", "ticks_left", world.U16}, 1: {"player", "health", world.U16},
		2: {"ball", "sender", world.Entity}, 30000: {"player", "cooldown_one", world.U16},
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for attr, w := range want {
		if got[attr] != w {
			t.Errorf("attribute %d is %v, want %v", attr, got[attr], w)
		}
	}
	a := schema.Action(0)
	if a.Name != "throw" || len(a.Fields) != 2 || a.Fields[0].Name != "angle" || a.Fields[0].Type != world.F32 || a.Fields[1].Name != "entity" || a.Fields[1].Type != world.Entity {
		t.Errorf("%+v", a)
	}
	if schema.Kind(1).Name != "player" || schema.Kind(2).Name != "ball" || schema.Kind(1).MaxSpeed != PlayerSpeed || schema.Kind(2).MaxSpeed != BallSpeed {
		t.Error("the kinds")
	}
}

func TestPlayersWalkAndStopAtWalls(t *testing.T) {
	sim := newArena(t)
	a, _, pa, _ := join2(t, sim)
	x := pa.X
	sim.Steer(a, sim.Tick(), world.Steering{Angle: 0, HasAngle: true, Norm: PlayerSpeed, HasNorm: true}, 0)
	sim.Advance()
	if pa.X != x+PlayerSpeed {
		t.Errorf("from %v to %v", x, pa.X)
	}
	for range 2000 {
		sim.Advance()
	}
	last := pa.X
	sim.Advance()
	if pa.X != last || pa.X > 512-10 || pa.X < x {
		t.Errorf("it walks through walls: %v", pa.X)
	}
	if why := sim.Steer(a, sim.Tick(), world.Steering{Norm: PlayerSpeed * 2, HasNorm: true}, 0); why != world.Accepted {
		t.Fatal(why)
	}
	sim.Advance()
	if !slices.ContainsFunc(sim.Events(), func(e world.Event) bool { return e.Reason == world.TooFast }) {
		t.Error("twice as fast as may be")
	}
}

// A ball flies, hits, harms and is gone; the thrower waits before the next.
func TestABallHits(t *testing.T) {
	sim := newArena(t)
	a, b, pa, pb := join2(t, sim)
	target, _ := world.Avatar[Player](sim.World(), b)
	shooter, _ := world.Avatar[Player](sim.World(), a)
	number := sim.Wire(target)
	lives := 0
	for hits := 1; hits <= 10; hits++ {
		sim.World().Place(shooter, -60, 0) // the middle between four squares is free
		sim.World().Place(target, 0, 0)
		health := pb.Health
		if why := throwAt(sim, a, 0); why != world.Accepted {
			t.Fatal(why)
		}
		sim.Advance()
		done := slices.IndexFunc(sim.Events(), func(e world.Event) bool { return e.Kind == world.ActionDone })
		if done < 0 || sim.Events()[done].Params[1].Uint() == 0 || sim.Events()[done].Entity != shooter {
			t.Fatalf("%+v", sim.Events())
		}
		if got := pa.CooldownOne; got != BallCooldown-1 {
			t.Fatalf("cool-down %d", got)
		}
		throwAt(sim, a, 0)
		sim.Advance()
		if !slices.ContainsFunc(sim.Events(), func(e world.Event) bool { return e.Reason == world.Denied }) {
			t.Error("it throws without waiting")
		}
		for range BallCooldown {
			sim.Advance()
		}
		if world.Count[Ball](sim.World()) != 0 {
			t.Fatal("the ball flies on")
		}
		if pb.Health == MaxHealth {
			lives++
			if pb.X == 0 && pb.Y == 0 {
				t.Error("it came back where it was")
			}
		} else if pb.Health != health-BallHarm {
			t.Fatalf("health %d after %d", pb.Health, health)
		}
	}
	if lives != 2 || sim.Wire(target) != number || pa.Health != MaxHealth {
		t.Errorf("%d times back, number %d and %d, the thrower has %d", lives, number, sim.Wire(target), pa.Health)
	}
}

// In a duel the room ends when one is out.
func TestADuelEnds(t *testing.T) {
	for seed := range uint64(20) {
		sim, err := world.New(Game(), world.Config{Seed: seed, Mode: Duel})
		if err != nil {
			t.Fatal(err)
		}
		a, b, _, _ := join2(t, sim)
		shooter, _ := world.Avatar[Player](sim.World(), a)
		target, _ := world.Avatar[Player](sim.World(), b)
		for hits := range MaxHealth / BallHarm {
			if result, ended := sim.World().Ended(); ended {
				t.Fatalf("seed %d: it ends after %d hits: %s", seed, hits, result)
			}
			sim.World().Place(shooter, -60, 0)
			sim.World().Place(target, 0, 0)
			throwAt(sim, a, 0)
			for range BallCooldown + 2 {
				sim.Advance()
			}
		}
		if result, ended := sim.World().Ended(); !ended || result != "ann wins" {
			t.Errorf("seed %d: ended %v, %q", seed, ended, result)
		}
	}
}

func TestABallEnds(t *testing.T) {
	sim := newArena(t)
	a, _, pa, pb := join2(t, sim)
	own, _ := world.Avatar[Player](sim.World(), a)
	sim.World().Place(own, 0, 0)
	pb.X, pb.Y = -400, -400
	throwAt(sim, a, 0)
	sim.Advance()
	for range BallLifespan - 2 {
		sim.Advance()
	}
	if world.Count[Ball](sim.World()) != 1 {
		t.Error("it ended too early")
	}
	for _, ball := range world.All[Ball](sim.World()) {
		if ball.X != pa.X+BallSpeed*(BallLifespan-1) || ball.TicksLeft != 1 || ball.Sender != own {
			t.Errorf("%+v", ball)
		}
	}
	sim.Advance()
	if world.Count[Ball](sim.World()) != 0 {
		t.Error("it never ends")
	}
	// One that meets a wall ends there.
	sim.World().Place(own, 480, 0)
	throwAt(sim, a, 0)
	for range 6 {
		sim.Advance()
	}
	if world.Count[Ball](sim.World()) != 0 {
		t.Error("it is through the wall")
	}
}

// Everyone stands where there is room, and the arena is not all walls.
func TestThereIsRoom(t *testing.T) {
	sim := newArena(t)
	for range 200 {
		if _, err := sim.Join("x"); err != nil {
			t.Fatal(err)
		}
	}
	sim.Advance()
	w := sim.World()
	for _, p := range world.All[Player](w) {
		if !w.Free(p.X, p.Y, w.Hitbox(&p.Body)) || p.X < -512 || p.X > 512 || p.Y < -512 || p.Y > 512 {
			t.Errorf("(%v, %v)", p.X, p.Y)
		}
	}
	solid := 0
	for _, v := range sim.Chunk(0, 0) {
		if v == Wall {
			solid++
		}
	}
	if solid == 0 || solid > world.ChunkSide*world.ChunkSide/4 {
		t.Errorf("%d cells of a chunk are walls", solid)
	}
	if sim.Chunk(2, 0)[0] != Wall || sim.Chunk(-3, -3)[9] != Wall {
		t.Error("the arena has no end")
	}
}

// A long game with random players replays to the bit: the arena keeps to the
// rules that it is an example of.
func TestAGameReplays(t *testing.T) {
	r := chance.Rand(t, 0xa7e4a)
	sim := newArena(t)
	var file bytes.Buffer
	if err := sim.Record(&file); err != nil {
		t.Fatal(err)
	}
	var players []world.PlayerID
	ticks := 300
	if testing.Short() {
		ticks = 60
	}
	hits := 0
	for range ticks {
		if len(players) < 20 {
			p, _ := sim.Join("x")
			players = append(players, p)
		}
		for _, p := range players {
			tick := sim.Tick() - min(sim.Tick(), r.Uint64N(20))
			if r.IntN(10) == 0 {
				sim.Steer(p, tick, world.Steering{Angle: r.Float32() * 6, HasAngle: true, Norm: r.Float32() * 2, HasNorm: true}, 0)
			}
			if r.IntN(8) == 0 {
				throwAt(sim, p, r.Float64()*6)
			}
		}
		sim.Advance()
	}
	for _, p := range world.All[Player](sim.World()) {
		if p.Health < MaxHealth {
			hits++
		}
		if p.Health == 0 || p.Health > MaxHealth {
			t.Errorf("health %d", p.Health)
		}
	}
	report, err := world.Replay(Game(), bytes.NewReader(file.Bytes()))
	if err != nil || report.Difference != nil || report.Hash != sim.World().Hash() {
		t.Errorf("%+v, %v, %v", report, report.Difference, err)
	}
	if hits == 0 && !testing.Short() {
		t.Error("nobody was hit")
	}
}

func ExampleGame() {
	sim, err := world.New(Game(), world.Config{Seed: 7})
	if err != nil {
		panic(err)
	}
	ann, _ := sim.Join("ann")
	sim.Advance()
	_, player := world.Avatar[Player](sim.World(), ann)
	fmt.Println(player.Health)
	// Output: 100
}
