package world_test

import (
	"bytes"
	"fmt"

	"parley/world"
)

type Ship struct {
	world.Body `parley:"speed=2"`
	Health     int16
}

type Shot struct{ world.Body }

type Fire struct{ Angle float32 }

var ships = world.Game{
	Name:     "ships",
	Kinds:    world.Kinds(Ship{}, Shot{}),
	Actions:  world.Actions(Fire{}),
	Step:     step,
	Hitboxes: []world.Hitbox{world.Circle(1)},
}

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, Ship{Health: 100}))
		case world.Steer:
			w.Steer(in)
		case world.Act:
			if fire, ok := world.Read[Fire](in); ok {
				_, ship := world.Avatar[Ship](w, in.Player)
				world.SpawnFor(w, in, Shot{Body: world.Body{X: ship.X + 3, Y: ship.Y, Angle: fire.Angle, Norm: 5}})
				world.Done(w, in, fire)
			}
		}
	}
	w.MoveAll()
	for id, shot := range world.All[Shot](w) {
		for target := range w.Touching(&shot.Body) {
			if ship := world.Get[Ship](w, target); ship != nil {
				ship.Health -= 10
				w.Despawn(id)
				break
			}
		}
	}
}

// A game, a gateway for one player, and an action that comes three ticks late.
func Example() {
	sim, err := world.New(ships, world.Config{Seed: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	ann, _ := sim.Join("ann")
	view := sim.NewView(ann, world.ViewConfig{Reliable: true})
	tick := func() {
		sim.Advance()
		for _, e := range sim.Events() {
			fmt.Println("tick", e.Tick, e.Kind)
		}
		view.Update()
		for c := view.Next(); c != nil; c = view.Next() {
			fmt.Println(" ", c.What, c.Kind.Name, c.Entity)
			for f := range world.Fields(c.Mask) {
				if c.What == world.Changed {
					fmt.Println("   ", c.Kind.Fields[f].Name, c.Value(f))
				}
			}
			view.Take(32)
		}
	}
	tick()
	sim.Steer(ann, sim.Tick(), world.Steering{Norm: 2, HasNorm: true}, 0)
	tick()
	tick()
	tick()
	late := sim.Tick() - 3
	sim.Act(ann, late, sim.Schema().ActionNamed("fire"), []world.Value{world.FloatValue(world.F32, 0)}, 0)
	tick()
	// Output:
	// tick 0 player joined
	//   entered ship 1
	//   changed ship 1
	//     x 2
	//     norm 2
	//   changed ship 1
	//     x 4
	//   changed ship 1
	//     x 6
	// tick 1 action done
	//   changed ship 1
	//     x 8
	//   entered shot 2
}

// A test of a game: players join and act, ticks pass, and the world is as it should be. It needs no server and no clock.
func ExampleNew() {
	sim, err := world.New(ships, world.Config{Seed: 7})
	if err != nil {
		fmt.Println(err) // such as a field of a type that cannot be state
		return
	}
	ann, _ := sim.Join("ann")
	bob, _ := sim.Join("bob")
	sim.Advance()

	w := sim.World() // as it is between two ticks
	_, a := world.Avatar[Ship](w, ann)
	target, b := world.Avatar[Ship](w, bob)
	w.Place(target, a.X+8, a.Y)

	fire, params := world.ParamsOf(sim.Schema(), Fire{Angle: 0})
	sim.Act(ann, sim.Tick(), fire, params, 0)
	for range 3 {
		sim.Advance()
	}
	fmt.Println(a.Health, b.Health, world.Count[Shot](w))
	// Output: 100 90 0
}

// A server that keeps the log of a room, and one that takes the room over.
func ExampleLoad() {
	sim, err := world.New(ships, world.Config{Seed: 7, Mode: "duel"})
	if err != nil {
		panic(err)
	}
	sim.Keep(0x5eed, 1)
	p, _ := sim.Join("ann")
	sim.Seal(1_000_000, 0)
	sim.Advance()
	snapshot := sim.AppendSnapshot(nil)

	sim.Steer(p, sim.Tick(), world.Steering{Angle: 1, HasAngle: true}, 0)
	sim.Chat(p, []byte("hello"))
	block := sim.Seal(1_050_000, 0) // to be written before anybody is told of the tick
	sim.Advance()

	other, head, err := world.Load(ships, bytes.NewReader(snapshot))
	if err != nil {
		panic(err)
	}
	entry, err := other.ReadEntry(block)
	if err == nil {
		err = other.Apply(entry)
	}
	if err != nil {
		panic(err)
	}
	for line := range entry.Of(world.ItemChat) {
		fmt.Printf("player %d says %s\n", line.Player, line.Text)
	}
	fmt.Println(head.Config.Mode, other.Tick(), other.World().Hash() == sim.World().Hash())
	// Output:
	// player 1 says hello
	// duel 2 true
}

// A shot hits whoever was in its way on the shooter's screen. Bob has flown away, and ann's screen shows where he was.
func ExampleWorld_At() {
	game := ships
	game.Step = func(w *world.World, inputs []world.Input) {
		for i := range inputs {
			in := &inputs[i]
			switch _, ok := world.Read[Fire](in); {
			case in.Kind == world.Join:
				w.Own(in.Player, world.SpawnFor(w, in, Ship{Health: 100, Body: world.Body{X: 20 * float64(in.Player-1)}}))
			case in.Kind == world.Steer:
				w.Steer(in)
			case ok: // it flies along x, and is there at once
				own, ship := world.Avatar[Ship](w, in.Player)
				for id, b := range w.At(in.Shown).Near(ship.X, ship.Y, 100) {
					if id != own && b.X > ship.X && b.Y < ship.Y+1 && b.Y > ship.Y-1 {
						now := world.Get[Ship](w, id)
						now.Health -= 10
						fmt.Printf("hit at y %.0f, which is now at y %.0f\n", b.Y, now.Y)
					}
				}
				world.Done(w, in, Fire{})
			}
		}
		w.MoveAll()
	}
	sim, err := world.New(game, world.Config{})
	if err != nil {
		panic(err)
	}
	ann, _ := sim.Join("ann")
	bob, _ := sim.Join("bob")
	sim.Advance()
	sim.Advance()
	sim.Steer(bob, sim.Tick(), world.Steering{Angle: 1.5707964, HasAngle: true, Norm: 2, HasNorm: true}, 0)
	sim.Advance()
	sim.Advance()
	sim.Advance()
	now := sim.Tick()
	fire := sim.Schema().ActionNamed("fire")
	aim := []world.Value{world.FloatValue(world.F32, 0)}
	sim.ActShown(ann, now, now-4, fire, aim, 0) // bob was still in front of it
	sim.Act(ann, now, fire, aim, 0)             // as a client without this does: it misses
	sim.Advance()
	// Output:
	// hit at y 0, which is now at y 6
}

// A client that predicts: its ship moves at once, and when the server tells where it was at tick 100, the client runs the ticks since then
// again from there.
func ExampleGuess() {
	guess, err := world.NewGuess(ships, world.Config{Seed: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	ship := guess.World().Schema().Kind(1)
	told := func(x float64) []world.Value {
		return []world.Value{world.FloatValue(world.F64, x), world.FloatValue(world.F64, 0), world.FloatValue(world.F32, 0),
			world.FloatValue(world.F32, 1), world.UintValue(world.U16, 0), world.IntValue(world.I16, 100)}
	}
	run := func(ticks int) {
		for range ticks {
			if err := guess.Run(); err != nil {
				fmt.Println(err) // Step has panicked
			}
		}
		id, own := world.Avatar[Ship](guess.World(), world.OwnPlayer)
		fmt.Printf("after tick %d ship %d is at %v\n", guess.World().Tick(), id, own.X)
	}
	guess.Own(5)   // the server's entity 5 is the player's own
	guess.Back(99) // what follows is so after tick 99
	guess.Put(5, ship, told(0))
	run(4)
	guess.Back(100)
	guess.Put(5, ship, told(1.5)) // it was half a cell further than the client knew
	run(3)
	// Output:
	// after tick 103 ship 5 is at 4
	// after tick 103 ship 5 is at 4.5
}
