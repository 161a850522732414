// Command first is the game of the README: a whole program, with all commands of parley.
//
//	go run ./examples/first serve       # serves it, until it is interrupted
//	go run ./examples/first join        # plays it, in another terminal
package main

import (
	"parley/program"
	"parley/world"
)

type Ship struct {
	world.Body // place, heading, speed, sprite: every dialect can show these
	Health     int16
}

func step(w *world.World, in []world.Input) {
	for i := range in {
		switch in[i].Kind {
		case world.Join:
			w.Own(in[i].Player, world.SpawnFor(w, &in[i], Ship{Health: 100}))
		case world.Steer:
			w.Steer(&in[i])
		}
	}
	w.MoveAll()
}

var game = world.Game{Name: "ships", Kinds: world.Kinds(Ship{}), Step: step}

func main() { program.Main(game) }
