package arena

import (
	"math"

	"parley/world"
)

// A life begins at a spawn point: one of 15 by 15 places that no block can cover. It is in sight of another player, which
// means that on a terminal of 80 by 24 characters, with 4 by 8 cells a character, both are on the screen of each. It is not
// where another player stands.
//
// There are points, and not places around each player, as a step may run again for an input that came late: a player who then
// stands a cell further away moves no newcomer.
const (
	pointsASide = 15
	points      = pointsASide * pointsASide

	sightX, sightY = 128, 64
	apart          = 32

	// stride has no divisor in common with points: steps of it come to every point, and to neighbours late.
	stride = 89
)

// What is known of a spawn point.
const (
	seen    = 1 << iota // another player has it in sight
	faced               // the foe has it in sight
	crowded             // somebody is there
)

// birthplace finds where a life begins. own is the entity that is born again, and 0 for a newcomer. foe has ended its last life:
// the new one begins in sight of somebody else, if there is somebody.
func birthplace(w *world.World, own, foe world.ID) (x, y float64) {
	var marks [points]uint8
	alone := true
	for id, p := range world.All[Player](w) {
		switch id {
		case own:
			mark(&marks, p, squareSide, squareSide, crowded) // somewhere else
			continue
		case foe:
			mark(&marks, p, sightX, sightY, faced)
		default:
			mark(&marks, p, sightX, sightY, seen)
		}
		alone = false
		mark(&marks, p, apart, apart, crowded)
	}
	best, at := 0, w.Random().IntN(points)
	chosen := at
	for range points {
		if q := quality(marks[at], alone); q > best {
			best, chosen = q, at
		}
		at = (at + stride) % points
	}
	if best == 0 {
		return anywhere(w) // a crowd
	}
	return pointPlace(chosen % pointsASide), pointPlace(chosen / pointsASide)
}

// quality says how good a spawn point is, and 0 if it is none.
func quality(mark uint8, alone bool) int {
	switch {
	case mark&crowded != 0:
		return 0
	case alone || mark == seen:
		return 3
	case mark != 0:
		return 2
	}
	return 1
}

// pointPlace returns where the n-th column or row of spawn points is.
func pointPlace(n int) float64 { return float64((n - pointsASide/2) * squareSide) }

// mark marks the spawn points that are less than dx and dy away from a player, or so far away exactly.
func mark(marks *[points]uint8, p *Player, dx, dy float64, as uint8) {
	left, right := pointsWithin(p.X, dx)
	low, high := pointsWithin(p.Y, dy)
	for row := low; row <= high; row++ {
		for column := left; column <= right; column++ {
			marks[row*pointsASide+column] |= as
		}
	}
}

// pointsWithin returns the first and the last column or row of spawn points within a distance of a place.
func pointsWithin(at, distance float64) (first, last int) {
	first = int(math.Ceil((at-distance)/squareSide)) + pointsASide/2
	last = int(math.Floor((at+distance)/squareSide)) + pointsASide/2
	return max(first, 0), min(last, pointsASide-1)
}

// anywhere finds a place where a player can stand.
func anywhere(w *world.World) (x, y float64) {
	const low, side = firstChunk * world.ChunkSide, (lastChunk - firstChunk + 1) * world.ChunkSide
	hitbox := w.Hitbox(&world.Body{Sprite: SpritePlayer})
	for {
		x = low + float64(w.Random().IntN(side)) + 0.5
		y = low + float64(w.Random().IntN(side)) + 0.5
		if w.Free(x, y, hitbox) {
			return x, y
		}
	}
}
