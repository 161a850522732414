// Command browser is a game with a page of its own, which draws and steers ships in a browser. The rules are in Go, and the page is the folder
// page: index.html and ships.js, with the client library that each server has at /parley.js.
//
//	go run ./examples/browser serve --play-page examples/browser/page     # then open http://localhost:8000
package main

import (
	"parley/program"
	"parley/world"
)

// Ship is a player's own entity. The page has its health as entity.health.
type Ship struct {
	world.Body `parley:"speed=3"` // the greatest speed, in cells a tick
	Health     int16
}

// Shot flies until it hits a ship or its time is over.
type Shot struct {
	world.Body
	Ticks uint16
	By    world.ID
}

// Fire is the action of a player: the page calls world.act("fire", { angle }).
type Fire struct{ Angle float32 }

// game is what the server runs. The outline of sprite 0 is a circle with a radius of two cells.
var game = world.Game{
	Name:     "ships of browsers",
	Kinds:    world.Kinds(Ship{}, Shot{}),
	Actions:  world.Actions(Fire{}),
	Hitboxes: []world.Hitbox{world.Circle(2)},
	Step:     step,
}

// side is the side of the sea, in cells.
const side = 200

// step runs one tick: it applies the inputs of players and moves everything. It touches nothing but w.
func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, Ship{Body: somewhere(w), Health: 100}))
		case world.Steer:
			w.Steer(in)
		case world.Act:
			id, ship := world.Avatar[Ship](w, in.Player)
			fire, ok := world.Read[Fire](in)
			if !ok || ship == nil {
				break
			}
			at := world.Body{X: ship.X, Y: ship.Y, Angle: fire.Angle, Norm: 6}
			world.SpawnFor(w, in, Shot{Body: at, Ticks: 30, By: id})
			world.Done(w, in, fire)
		}
	}
	for _, ship := range world.All[Ship](w) {
		w.Move(&ship.Body)
	}
	for id, shot := range world.All[Shot](w) {
		w.Move(&shot.Body)
		if shot.Ticks--; shot.Ticks == 0 {
			w.Despawn(id)
		}
	}
	w.Reindex() // so that Touching finds bodies where they are now
	for id, shot := range world.All[Shot](w) {
		for target := range w.Touching(&shot.Body) {
			if ship := world.Get[Ship](w, target); ship != nil && target != shot.By {
				if ship.Health -= 10; ship.Health <= 0 { // it is a new one, elsewhere
					ship.Body, ship.Health = somewhere(w), 100
				}
				w.Despawn(id)
				break
			}
		}
	}
}

func somewhere(w *world.World) world.Body {
	r := w.Random()
	return world.Body{X: float64(r.IntN(side)), Y: float64(r.IntN(side))}
}

func main() { program.Main(game) }
