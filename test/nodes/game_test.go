package nodes

import (
	"fmt"

	"parley/world"
)

// walker is what a player of the counting game has. Every dialect can tell what counts: x is how many steps the player has asked for, and y is the player.
type walker struct {
	world.Body
	Last uint32 // the greatest number of a step that was made
	Had  uint64 // which of the 64 before it were made: bit n is Last-n
}

// pace is the action that raises x by one.
type pace struct{ Nth uint32 }

// half is where in its cell a walker is.
const half = 0.5

// countingGame is a game in which everything that happens can be counted. told is called with each tick that is run, before it, and the hash of the
// world as it stands then; a tick that is rewound is told again. twice is called with a step that is made for the second time.
func countingGame(told func(tick, hash uint64), twice func(what string)) world.Game {
	return world.Game{Name: "count", Kinds: world.Kinds(walker{}), Actions: world.Actions(pace{}), Step: func(w *world.World, inputs []world.Input) {
		told(w.Tick(), w.Hash())
		count(w, inputs, twice)
	}}
}

func count(w *world.World, inputs []world.Input, twice func(what string)) {
	for i := range inputs {
		in := &inputs[i]
		id, own := world.Avatar[walker](w, in.Player)
		switch in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, walker{Body: world.Body{X: half, Y: float64(in.Player) + half}}))
		case world.Act:
			p, ok := world.Read[pace](in)
			if !ok || own == nil {
				continue
			}
			if own.has(p.Nth) {
				twice(fmt.Sprintf("step %d of player %d", p.Nth, in.Player))
				w.Deny(in)
				continue
			}
			w.Place(id, own.X+1, own.Y)
			world.Done(w, in, p)
		}
	}
}

// has notes a step, and reports whether it was made before. One that is older than all that are known was not.
func (b *walker) has(nth uint32) bool {
	if nth > b.Last {
		b.Had = b.Had<<min(nth-b.Last, 64) | 1
		b.Last = nth
		return false
	}
	bit := uint64(1) << min(b.Last-nth, 63)
	was := b.Last-nth < 64 && b.Had&bit != 0
	b.Had |= bit
	return was
}
