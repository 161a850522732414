package crash

import "parley/world"

// walker is what a player has. Every dialect can tell what counts: x is how many steps the player has asked for, and y is the player.
type walker struct{ world.Body }

// grave has the place of the walker of a player who has left, so that whatever was told of it can be looked up.
type grave struct{ world.Body }

// pace is the action that raises x by one.
type pace struct{ Nth uint32 }

// half is where in its cell a walker is: realm tells cells only.
const half = 0.5

func game() world.Game {
	return world.Game{Name: "crash", Kinds: world.Kinds(walker{}, grave{}), Actions: world.Actions(pace{}), Step: step}
}

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		id, own := world.Avatar[walker](w, in.Player)
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, walker{world.Body{X: half, Y: float64(in.Player) + half}}))
		case world.Leave:
			if own != nil {
				world.Spawn(w, grave{world.Body{X: own.X, Y: own.Y}})
			}
		case world.Act:
			if p, ok := world.Read[pace](in); ok && own != nil {
				w.Place(id, own.X+1, own.Y)
				world.Done(w, in, p)
			}
		}
	}
}
