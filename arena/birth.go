package arena

import (
	"math"

	"parley/world"
)

// A life begins in sight of another player: on a terminal of 80 by 24 characters, at 4 by 8 cells each, both are on the screen of
// each. It begins neither in a wall nor at another player's feet.
const (
	sightX, sightY = 96, 60
	apart          = 32

	maxBirthTries = 64 // the best of so many places is taken: in a crowd there may be no good one
)

// birthplace finds where a life begins. own is the entity that is born again, and 0 for a newcomer. foe has ended its last life:
// the new one begins in sight of somebody else, if there is somebody.
func birthplace(w *world.World, own, foe world.ID) (x, y float64) {
	best := -1
	for try := range maxBirthTries {
		px, py := anywhere(w)
		if try > 0 { // from most places of an arena that is almost empty nobody is seen
			px, py = near(w, px, py)
		}
		if q := quality(w, px, py, own, foe); q > best {
			x, y, best = px, py, q
		}
		if best == bestQuality {
			break
		}
	}
	return x, y
}

// anywhere finds a place where a player can stand.
func anywhere(w *world.World) (x, y float64) {
	const low, side = firstChunk * world.ChunkSide, (lastChunk - firstChunk + 1) * world.ChunkSide
	for {
		x = low + float64(w.Random().IntN(side)) + 0.5
		y = low + float64(w.Random().IntN(side)) + 0.5
		if free(w, x, y) {
			return x, y
		}
	}
}

// near finds a place in sight of a player, and returns (x, y) if there is none. Anybody may be that player: nobody can wait
// where newcomers come.
func near(w *world.World, x, y float64) (float64, float64) {
	dx, dy := w.Random().IntN(2*sightX+1)-sightX, w.Random().IntN(2*sightY+1)-sightY
	chosen := w.Random().IntN(max(1, world.Count[Player](w)))
	for _, p := range world.All[Player](w) {
		if chosen > 0 {
			chosen--
			continue
		}
		if nx, ny := p.X+float64(dx), p.Y+float64(dy); free(w, nx, ny) {
			return nx, ny
		}
		break
	}
	return x, y
}

func free(w *world.World, x, y float64) bool {
	return w.Free(x, y, w.Hitbox(&world.Body{Sprite: SpritePlayer}))
}

// bestQuality is that of a place that is in sight of a player, out of sight of the foe, and at nobody's feet.
const bestQuality = 3

// quality says how good a place is to begin a life at.
func quality(w *world.World, x, y float64, own, foe world.ID) int {
	alone, seen, faced := true, false, false
	for id, p := range world.All[Player](w) {
		if id == own {
			continue
		}
		alone = false
		dx, dy := math.Abs(p.X-x), math.Abs(p.Y-y)
		if max(dx, dy) < apart {
			return 0
		}
		if dx <= sightX && dy <= sightY {
			seen, faced = seen || id != foe, faced || id == foe
		}
	}
	switch {
	case alone || seen && !faced:
		return bestQuality
	case seen || faced:
		return 2
	}
	return 1
}
