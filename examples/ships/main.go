// Command ships is a game of one's own in some fifty lines: ships sail on an empty sea and
// fire; a ship that is hit has less health. Players of replica, stamp, relay and duplex share it. Players
// of realm have accounts: parley.Config{Accounts: sqlite.OpenIn} lets them in too.
//
//	go run ./examples/ships        # serves at the usual ports, until it is interrupted
package main

import (
	"context"
	"log"
	"os"
	"os/signal"

	"parley"
	"parley/world"
)

// Ship is a player's own entity. Its exported fields are what players see.
type Ship struct {
	world.Body `parley:"speed=3"` // at most so many cells a tick
	Health     int16
}

// Shot flies until it hits a ship or its time is over.
type Shot struct {
	world.Body
	Ticks uint16
	By    world.ID
}

// Fire is what a player may do: fire at an angle, in radians.
type Fire struct{ Angle float32 }

// game is all that parley needs. Sprite 0 is a circle of two cells.
var game = parley.Game{
	Name:     "ships",
	Kinds:    world.Kinds(Ship{}, Shot{}),
	Actions:  world.Actions(Fire{}),
	Hitboxes: []world.Hitbox{world.Circle(2)},
	Step:     step,
}

// step makes a tick of what players asked for. It touches nothing but w.
func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		switch in.Kind {
		case world.Join:
			r := w.Random()
			at := world.Body{X: float64(r.IntN(200)), Y: float64(r.IntN(200))}
			w.Own(in.Player, world.SpawnFor(w, in, Ship{Body: at, Health: 100}))
		case world.Steer:
			w.Steer(in)
		case world.Act:
			id, ship := world.Avatar[Ship](w, in.Player)
			fire, ok := world.Read[Fire](in)
			if !ok || ship == nil {
				break
			}
			shot := Shot{Body: world.Body{X: ship.X, Y: ship.Y, Angle: fire.Angle, Norm: 6}, Ticks: 30, By: id}
			world.SpawnFor(w, in, shot)
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
	w.Reindex() // what has moved is found where it is
	for id, shot := range world.All[Shot](w) {
		for target := range w.Touching(&shot.Body) {
			if ship := world.Get[Ship](w, target); ship != nil && target != shot.By {
				ship.Health -= 10
				w.Despawn(id)
				break
			}
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := parley.Serve(ctx, game, parley.Config{}); err != nil {
		log.Fatal(err)
	}
}
