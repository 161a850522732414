// Command pond is a game whose whole program is one line.
package main

import (
	"parley/program"
	"parley/world"
)

// Frog is a player's own entity.
type Frog struct {
	world.Body `parley:"speed=0.5"`
	Hops       uint16
}

// Pond is what everybody knows. It is nowhere.
type Pond struct{ Hops uint32 }

// Hop moves a frog ahead at once.
type Hop struct{ Cells int8 }

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, Frog{}))
		case world.Steer:
			w.Steer(in)
		case world.Act:
			id, frog := world.Avatar[Frog](w, in.Player)
			hop, ok := world.Read[Hop](in)
			if !ok || frog == nil || hop.Cells < 0 {
				w.Deny(in)
				break
			}
			w.Place(id, frog.X+float64(hop.Cells), frog.Y)
			frog.Hops++
			for _, p := range world.All[Pond](w) {
				p.Hops++
			}
			world.Done(w, in, hop)
		}
	}
	for _, frog := range world.All[Frog](w) {
		w.Move(&frog.Body)
	}
}

func main() {
	program.Main(world.Game{
		Name: "pond", Kinds: world.Kinds(Frog{}, Pond{}), Actions: world.Actions(Hop{}), Step: step,
		Setup: func(w *world.World) { world.Spawn(w, Pond{}) },
	})
}
