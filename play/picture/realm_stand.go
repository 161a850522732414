package picture

import (
	"math"

	realmcore "parley/protocol/realm/core"
	"parley/world"
)

// stand is what a client of realm knows of where in its cell the server has the own body.
//
// The server tells whole cells, and its world has fractions: half a cell decides whether a wall stops a body. But a client may say in which cell its
// body is, and the server then places the body at the point of that cell that is nearest to it: "The entity is placed at the point of
// that cell that is nearest to it" (docs/protocols/realm.md, Own moves). So a client that says that it is in the cell diagonally beside
// the one that it was told knows to the bit where the server has put the body: at their common corner. From there on both run the same
// Step on the same inputs. It does so as it walks, when the corner is less than a tick's walk away.
//
// A server that is told places does not tell the body's own moves any more. So the client says where it is once a second: if the
// server has it elsewhere, it refuses that and tells where the body is, and the client begins anew.
type stand struct {
	sure    bool   // the server's body is where the own is
	low     bool   // the own is not in the middle of the cell that was told, but at its corner
	passed  uint64 // the tick of which what was told was outdated
	tried   uint64 // the tick for which a corner was claimed last
	claimed uint64 // the tick for which any place was claimed last
}

// How a client of realm claims places.
const (
	// sureSeconds is how often it says where it is, and so how long it can be wrong about that. It is doubtSeconds after a corner was claimed, and
	// when a wall stops the body, where the least difference counts: each time the server's is brought into the own cell.
	sureSeconds  = 1
	doubtSeconds = .2

	// againSeconds is how soon a corner is claimed again after one that was refused. Corrections come at most twice a second.
	againSeconds = .3

	// lateSeconds is how late a steer may come: servers go back that far.
	lateSeconds = 1

	// cornerSpeed is how many cells a second a body walks at least that claims a corner, so that the way there is less than a tenth of a
	// second's. A slower one says in which cell it is, and the server's comes nearer to it with each.
	cornerSpeed = 20

	// cornerReach is how far the server's body may be from a corner that is claimed. The server's grace is 2 cells, and mostly the body is
	// nearer than it may be: what is refused is tried again.
	cornerReach = 2.2
)

// ticks returns the number of ticks of a time.
func (r *Realm) ticks(seconds float64) uint64 {
	return uint64(math.Ceil(seconds * float64(max(minRate, min(r.core.config.TickRate, maxRate)))))
}

// due reports whether the player is to say where its body is, though it has not steered.
func (r *Realm) due(tick uint64) bool {
	q := &r.core.inputs
	if !q.steered || q.norm == 0 || !r.core.mine.ready || !r.known() {
		return false // where it stands it was told, or has told
	}
	if r.stand.sure {
		every := float64(sureSeconds)
		if tick < r.stand.tried+r.ticks(sureSeconds) || r.core.mine.stopped(q.norm) {
			every = doubtSeconds
		}
		return tick >= r.stand.claimed+r.ticks(every)
	}
	return tick >= r.stand.tried+r.ticks(againSeconds)
}

// steered looks whether a correction of the own body shows that a steer was refused, as it came later than the server goes back. Then the
// player's wish is sent again. What the game has stopped stays so.
func (r *Realm) steered(e *realmcore.Entity) {
	const both = realmcore.HasSpeedAngle | realmcore.HasSpeedNorm
	q := &r.core.inputs
	if e.Has&both != both || !q.steered || e.SpeedNorm == 0 || e.SpeedNorm == q.norm && (e.SpeedAngle == q.angle || q.norm == 0) {
		return
	}
	if n := len(r.steers); n > 0 && r.steers[n-1].tick+r.ticks(lateSeconds) <= r.ran {
		q.waits = true
	}
}

// stopped reports whether a wall stops the own body in the tick that runs.
func (m *prediction) stopped(norm float32) bool {
	g := &m.ghosts[0]
	return math.Hypot(g.to.x-g.from.x, g.to.y-g.from.y) < .9*float64(norm)
}

// outdated reports whether what is told of the own body is from before a steer came that was made for that tick or an earlier one, and is then
// done: the server goes back for it. The body is then as far from where it is computed as it can have walked since.
func (r *Realm) outdated(e *realmcore.Entity, b *world.Body, x, y float64) bool {
	if e.ID != r.core.own {
		return false
	}
	flight := uint64(math.Ceil(r.lag)) + 2
	i := len(r.steers) - 1
	for i >= 0 && r.steers[i].tick > r.ran {
		i--
	}
	if i < 0 || r.steers[i].tick+flight <= r.ran || r.stand.passed > 0 && r.ran < r.stand.passed+r.ticks(lateSeconds) {
		return false
	}
	s := &r.steers[i]
	turns := i == 0 || r.steers[i-1].angle != s.angle || r.steers[i-1].norm != s.norm
	if turns && e.Has&realmcore.HasSpeedAngle != 0 && e.SpeedAngle == s.angle && (e.Has&realmcore.HasSpeedNorm == 0 || e.SpeedNorm == s.norm) {
		return false // it was done
	}
	if math.Hypot(x-b.X, y-b.Y) > cornerReach+1+2*float64(s.norm)*float64(r.ran-s.tick+1) {
		return false
	}
	r.stand.passed = r.ran // once: it may be a correction
	return true
}

// known reports whether the terrain around the own body is known: what is not would be walls that the server has elsewhere.
func (r *Realm) known() bool {
	at := r.core.mine.ghosts[0].from
	const reach = 64 + 2*cornerReach // the greatest outline
	for _, x := range [2]float64{at.x - reach, at.x + reach} {
		for _, y := range [2]float64{at.y - reach, at.y + reach} {
			if bx, by, _, _, ok := world.Locate(x, y); ok && !r.core.guess.HasChunk(world.ChunkPlace{BX: bx, BY: by}) {
				return false
			}
		}
	}
	return true
}

// claim adds where the own body is to a steer, if that is due.
func (r *Realm) claim(in *input) {
	m := &r.core.mine
	if !m.ready || in.norm == 0 || !m.ghosts[0].there || in.tick != m.tick+1 || !r.due(in.tick) {
		return
	}
	at := m.ghosts[0].from
	if slow := float64(in.norm)*float64(r.ticks(1)) < cornerSpeed; slow || r.stand.sure {
		if !r.stand.sure {
			r.stand.sure, r.stand.tried = true, in.tick
		}
		in.cell, in.x, in.y = true, math.Floor(at.x)+.5, math.Floor(at.y)+.5
		r.stand.claimed = in.tick
		return
	}
	if r.stand.low {
		at.x, at.y = at.x+.5, at.y+.5
	}
	if in.x, in.y, in.cell = r.corner(at, float64(in.angle)); in.cell {
		r.stand = stand{sure: true, tried: in.tick, claimed: in.tick, passed: r.stand.passed}
	}
}

// corner returns the middle of a cell of which the server's body, which is less than half a cell away from a place in each direction, is
// outside on both sides. Ahead is better than behind.
func (r *Realm) corner(at place, angle float64) (x, y float64, ok bool) {
	w := r.core.guess.World()
	b := w.Body(r.core.guess.ID(r.core.own))
	if b == nil {
		return 0, 0, false
	}
	h := w.Hitbox(b)
	sin, cos := math.Sincos(angle)
	best := math.Inf(1)
	for _, up := range [2]bool{true, false} {
		for _, right := range [2]bool{true, false} {
			cellX, edgeX, farX := beside(at.x, right)
			cellY, edgeY, farY := beside(at.y, up)
			far := math.Hypot(farX, farY)
			if far > cornerReach {
				continue
			}
			if (edgeX-at.x)*cos+(edgeY-at.y)*sin < 0 {
				far += cornerReach
			}
			if far < best && w.Free(edgeX, edgeY, h) && w.Free((edgeX+at.x)/2, (edgeY+at.y)/2, h) {
				best, x, y = far, cellX, cellY
			}
		}
	}
	return x, y, best < math.Inf(1)
}

// beside returns, in one direction, the middle of the next cell that a body is surely not in which is at most half a cell away from a
// place, the edge of that cell, and how far the body is from that edge at most.
func beside(at float64, up bool) (cell, edge, far float64) {
	if up {
		edge = math.Ceil(at + .5)
		return edge + .5, edge, edge - (at - .5)
	}
	edge = math.Floor(at - .5)
	return edge - .5, math.Nextafter(edge, edge-1), at + .5 - edge
}
