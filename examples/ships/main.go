// Command ships is a whole game in some fifty lines: ships sail on an empty sea and fire, and a hit costs
// health. Players of replica, relay and duplex share it, and spectators watch over stamp. Players of
// realm need accounts: parley.Config{Accounts: sqlite.OpenIn} lets them in too.
//
// It calls parley.Serve, which is all that a small program needs. A game with commands and flags calls program.Main, as examples/first does.
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
	world.Body `parley:"speed=3"` // the greatest speed, in cells a tick
	Health     int16
}

// Shot flies until it hits a ship or its time is over.
type Shot struct {
	world.Body
	Ticks uint16
	By    world.ID
}

// Fire is the action of a player: to fire at an angle, in radians.
type Fire struct{ Angle float32 }

// game is all that parley needs. The outline of sprite 0 is a circle with a radius of two cells.
var game = parley.Game{
	Name:     "ships",
	Kinds:    world.Kinds(Ship{}, Shot{}),
	Actions:  world.Actions(Fire{}),
	Hitboxes: []world.Hitbox{world.Circle(2)},
	Step:     step,
}

// step runs one tick: it applies the inputs of players and moves everything. It touches nothing but w.
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
	w.Reindex() // so that Touching finds bodies where they are now
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
