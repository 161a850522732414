package main

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"parley/world"
)

// The world of W6: walkers on rounds of their own about a player who walks too. Each turns a little in each tick, so there is
// something to tell of it even to a client that moves bodies by their speed. Its place, and its angle, tell which tick they are
// from.

// Walker is an entity that walks without a client.
type Walker struct {
	world.Body `parley:"speed=1"`
}

// Hiker is the player's own entity.
type Hiker struct {
	world.Body `parley:"speed=1"`
}

const (
	narrowWalkers = 150
	narrowNear    = 16 // so many of them, the nearest, are near
	narrowRate    = 20 // ticks a second
	narrowSight   = 160

	// A round takes longer than a run, so that a place is of one tick only.
	roundTicks = 800
	walkerNorm = .0625
	homesApart = 19 // more than a round is wide, so that a place is of one walker only, even if it is told to the cell
)

// roundRadius is that of the corners of a round.
var roundRadius = walkerNorm / 2 / math.Sin(math.Pi/roundTicks)

// round is where a walker is in each tick of its round, from its home.
var round = func() (places [roundTicks][2]float64) {
	x, y := roundRadius, 0.
	for t := range places {
		places[t] = [2]float64{x, y}
		sin, cos := math.Sincos(float64(roundAngle(t)))
		x, y = x+walkerNorm*cos, y+walkerNorm*sin
	}
	return places
}()

// roundAngle is the direction in which a walker leaves its place in a tick of its round.
func roundAngle(t int) float32 {
	return float32(math.Remainder(math.Pi/2+2*math.Pi*(float64(t)+.5)/roundTicks, 2*math.Pi))
}

// homes are the middles of the walkers' rounds, the nearest to the player first: a lattice of triangles about the player.
var homes = func() (list [][2]float64) {
	for i := -10; i <= 10; i++ {
		for k := -10; k <= 10; k++ {
			if i != 0 || k != 0 {
				list = append(list, [2]float64{homesApart * (float64(i) + float64(k)/2), homesApart * float64(k) * math.Sqrt(3) / 2})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b [2]float64) int { return cmp.Compare(math.Hypot(a[0], a[1]), math.Hypot(b[0], b[1])) })
	return list[:narrowWalkers]
}()

// phaseOf is how far a walker is in its round at a tick. Not all turn at once.
func phaseOf(walker int, tick int64) int { return int((tick + int64(walker)*37) % roundTicks) }

// walkerPlace is where a walker is at a tick.
func walkerPlace(walker int, tick int64) (x, y float64) {
	p := round[phaseOf(walker, tick)]
	return homes[walker][0] + p[0], homes[walker][1] + p[1]
}

// offRound is how far a place is from the round of a walker, about.
func offRound(walker int, x, y float64) float64 {
	return math.Abs(math.Hypot(x-homes[walker][0], y-homes[walker][1]) - roundRadius)
}

func isOnRound(walker int, x, y float64) bool { return offRound(walker, x, y) < 1 }

// walkerAt returns which walker is at a place.
func walkerAt(x, y float64) (walker int) {
	for i := range homes {
		if offRound(i, x, y) < offRound(walker, x, y) {
			walker = i
		}
	}
	return walker
}

// phaseAt returns the phase of a walker's round that is nearest to a place.
func phaseAt(walker int, x, y float64) int {
	x, y = x-homes[walker][0], y-homes[walker][1]
	return turnOf(math.Atan2(y, x))
}

// phaseTowards returns the phase of a round that a walker comes into when it walks in that direction.
func phaseTowards(angle float32) int {
	return (turnOf(float64(angle)-math.Pi/2-math.Pi/roundTicks) + 1) % roundTicks
}

// turnOf is an angle in ticks of a round.
func turnOf(angle float64) int {
	return (int(math.Round(angle/(2*math.Pi)*roundTicks)) + roundTicks) % roundTicks
}

// tickClock knows when each tick was made.
type tickClock struct {
	mu    sync.Mutex
	times []time.Time // by tick; the first may be before the first tick
}

// note says that a tick is made now. A tick may be made again, when something came late.
func (c *tickClock) note(tick uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uint64(len(c.times)) <= tick {
		c.times = append(c.times, time.Now())
	}
}

func (c *tickClock) all() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.times)
}

// narrowGame is the game of W6. Its clock is no part of the world.
func narrowGame(clock *tickClock) world.Game {
	return world.Game{
		Name:  "walkers",
		Kinds: world.Kinds(Walker{}, Hiker{}),
		Setup: func(w *world.World) {
			for i := range narrowWalkers {
				x, y := walkerPlace(i, 0)
				world.Spawn(w, Walker{world.Body{X: x, Y: y, Norm: walkerNorm, Angle: roundAngle(phaseOf(i, 0))}})
			}
		},
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				switch in := &inputs[i]; in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, Hiker{}))
				case world.Steer:
					w.Steer(in)
				}
			}
			i := 0 // they are in the order of Setup, as none of them leaves
			for _, a := range world.All[Walker](w) {
				a.Angle = roundAngle(phaseOf(i, int64(w.Tick())))
				i++
			}
			w.MoveAll()
			clock.note(w.Tick() + 1) // walkerPlace counts from Setup
		},
	}
}
