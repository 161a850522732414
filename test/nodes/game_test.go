package nodes

import "parley/world"

// walker is what a player of the counting game has. Every dialect can tell what counts: x is how many steps the player has asked for, and y is the player.
type walker struct{ world.Body }

// pace is the action that raises x by one.
type pace struct{ Nth uint32 }

// half is where in its cell a walker is.
const half = 0.5

// countingGame is a game in which everything that happens can be counted. told is called with each tick that is run, before it, and the hash of the
// world as it stands then; a tick that is rewound is told again.
func countingGame(told func(tick, hash uint64)) world.Game {
	return world.Game{Name: "count", Kinds: world.Kinds(walker{}), Actions: world.Actions(pace{}), Step: func(w *world.World, inputs []world.Input) {
		told(w.Tick(), w.Hash())
		count(w, inputs)
	}}
}

func count(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		id, own := world.Avatar[walker](w, in.Player)
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, walker{Body: world.Body{X: half, Y: float64(in.Player) + half}}))
		case world.Act:
			p, ok := world.Read[pace](in)
			if ok && own != nil {
				w.Place(id, own.X+1, own.Y)
				world.Done(w, in, p)
			}
		}
	}
}
