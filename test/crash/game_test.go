package crash

import "parley/world"

// walker is what a player has. Every dialect can tell what counts: x is how often the player has asked for a step, and y is the player.
type walker struct{ world.Body }

// pace is the action that raises x by one.
type pace struct{ Nth uint32 }

// half is where in its cell a walker is: realm tells cells only.
const half = 0.5

// game keeps the walkers of players who have left, so that whatever was told of them can be looked up.
func game() world.Game {
	return world.Game{
		Name: "crash", Kinds: world.Kinds(walker{}), Actions: world.Actions(pace{}),
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				switch in := &inputs[i]; in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, walker{world.Body{X: half, Y: float64(in.Player) + half}}))
				case world.Act:
					if p, ok := world.Read[pace](in); ok {
						if id, own := world.Avatar[walker](w, in.Player); own != nil {
							w.Place(id, own.X+1, own.Y)
							world.Done(w, in, p)
						}
					}
				}
			}
		},
	}
}
