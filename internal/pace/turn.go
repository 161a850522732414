package pace

import (
	"iter"
	"math/bits"
)

// InTurn iterates over the players of a server, and begins with another one in each tick. The packets of a tick go out in that
// order, and where players share a link the later wait for the earlier: each is to see the queue without the others'
// packets now and then, as it would else take them for the path's.
func InTurn[T any](tick uint64, players []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		// Steps of the golden ratio come near to each place soon, however many there are.
		place, _ := bits.Mul64(tick*0x9e3779b97f4a7c15, uint64(len(players)))
		for i := range players {
			if i += int(place); i >= len(players) {
				i -= len(players)
			}
			if !yield(players[i]) {
				return
			}
		}
	}
}
