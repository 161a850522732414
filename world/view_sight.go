package world

import (
	"math"
	"math/bits"
	"slices"
)

// How urgent something is grows each tick until it is told: by 16 to 256 with
// its nearness, and by more if the player owns it. So the nearest are told
// most often, and what is far is told in the end: nothing starves.
const (
	leastUrgency = 16
	nearUrgency  = 240
	ownUrgency   = 1 << 16
	mostUrgency  = 1 << 30
)

// Update brings the view to the newest publication: what has come into sight,
// what has left it, and what has changed. It is called once after each Advance.
func (v *View) Update() {
	p := &v.sim.public
	if v.updated == p.now {
		return
	}
	v.updated, v.offered = p.now, false
	v.urgent, v.levels = v.urgent[:0], [urgencies]uint16{}
	for len(v.entries) < p.high {
		v.entries = append(v.entries, entry{})
	}
	v.refill()
	v.look()
	v.review()
	v.discover()
	v.rank()
}

func (v *View) refill() {
	if b := v.config.BytesPerTick; b < 0 {
		v.budget = math.MaxInt32
	} else {
		// What was not used is kept for one tick; what was overdrawn is paid back.
		v.budget = min(v.budget+b, 2*b)
	}
}

// look finds the player's own entity and looks from it.
func (v *View) look() {
	v.own = -1
	player, ok := v.sim.world.Player(v.player)
	if !ok {
		return
	}
	if i, ok := v.sim.public.slotOf.get(player.Entity); ok {
		v.own = int(i)
		if s := &v.sim.public.slots[i]; s.kind.HasBody {
			v.x, v.y = s.x, s.y
		}
	}
}

// review goes through what was in sight.
func (v *View) review() {
	p := &v.sim.public
	limit, scale := v.edge()
	kept := v.known[:0]
	for _, i := range v.known {
		s, e := &p.slots[i], &v.entries[i]
		if uint32(s.born) != e.born {
			v.depart(int(i))
			continue
		}
		d := 0.0
		if v.config.Radius >= 0 {
			d = v.distance(s)
		}
		if d > limit && s.hasBody { // its own is no distance away
			v.depart(int(i))
			continue
		}
		kept = append(kept, i)
		if e.lost != 0 || v.isNews(s, e) {
			v.urge(i, s, e, d, scale)
		}
	}
	v.known = kept
}

// edge returns the square of the distance at which something leaves, and what
// makes a square of a distance a loss of urgency.
func (v *View) edge() (limit, scale float64) {
	if v.config.Radius < 0 {
		return math.Inf(1), 0
	}
	limit = v.config.Radius + v.config.Hysteresis
	limit = float64(limit * limit)
	return limit, nearUrgency / limit
}

// isNews reports whether the client should be told of what has changed since.
func (v *View) isNews(s *slot, e *entry) bool {
	switch {
	case v.config.SightOnly:
		return false
	case v.config.PredictTicks == 0:
		return s.changed > e.sent
	case s.other > e.sent || s.jumped > e.sent:
		return true
	}
	return s.changed > e.sent && v.updated-e.sent >= uint64(v.config.PredictTicks)
}

func (v *View) urge(i uint32, s *slot, e *entry, d, scale float64) {
	more := uint32(leastUrgency)
	if v.config.Radius >= 0 && s.hasBody {
		more += uint32(max(0, nearUrgency-float64(d*scale)))
	}
	if s.owner != 0 && s.owner == v.player {
		more += ownUrgency
	}
	e.urgency = min(e.urgency+more, mostUrgency)
	v.urgent = append(v.urgent, uint64(e.urgency)<<32|uint64(^i))
	v.levels[magnitude(e.urgency)]++
}

// urgencies is how many orders of magnitude there are: four to a power of two.
const urgencies = 128

func magnitude(urgency uint32) int {
	n := bits.Len32(urgency)
	return n<<2 | int(urgency<<2>>n)&3
}

// rank puts the most urgent into a heap. A tick's bytes are mostly spent before
// these are told, and a heap of everything is not needed.
func (v *View) rank() {
	const enough = 96
	cut, n := urgencies, 0
	for cut > 0 && n < enough {
		cut--
		n += int(v.levels[cut])
	}
	front := 0
	for i, u := range v.urgent {
		if magnitude(uint32(u>>32)) >= cut {
			v.urgent[i], v.urgent[front] = v.urgent[front], u
			front++
		}
	}
	v.queue, v.rest = v.urgent[:front:front], v.urgent[front:]
	heapify(v.queue)
}

// discover finds what has come into sight.
func (v *View) discover() {
	p := &v.sim.public
	v.near = v.near[:0]
	switch {
	case v.config.Radius >= 0:
		if v.own >= 0 {
			v.notice(uint32(v.own), 0)
		}
		for _, i := range p.global {
			if int(i) != v.own {
				v.notice(i, 0)
			}
		}
		v.scan()
	case len(v.known) < p.numbered:
		for i := range p.high {
			d := 0.0
			if s := &p.slots[i]; v.config.MaxPerKind > 0 && s.hasBody && i != v.own {
				d = v.distance(s)
			}
			v.notice(uint32(i), d)
		}
	}
	if v.config.MaxPerKind > 0 {
		v.choose()
	}
	_, scale := v.edge()
	for _, n := range v.near {
		v.enter(uint32(n), float64(math.Float32frombits(uint32(n>>32))), scale)
	}
}

// scan notices the bodies within the radius.
func (v *View) scan() {
	p, r := &v.sim.public, v.config.Radius
	square := float64(r * r)
	x0, x1 := squareOf(v.x-r), squareOf(v.x+r)
	last := squareOf(v.y + r)
	for row := squareOf(v.y - r); row <= last; row++ {
		run := p.grid.run(row, x0, x1)
		if len(run) == 0 {
			row = p.grid.nextRow(row) - 1
			continue
		}
		for _, key := range run {
			i := uint32(key & (1<<24 - 1))
			if v.entries[i].stamp != 0 || int(i) == v.own {
				continue
			}
			if d := v.distance(&p.slots[i]); d <= square {
				v.notice(i, d)
			}
		}
	}
}

// distance returns the square of how far away an entity is.
func (v *View) distance(s *slot) float64 {
	dx, dy := s.x-v.x, s.y-v.y
	return float64(dx*dx) + float64(dy*dy)
}

// notice remembers a newcomer. Squares of distances are not negative, so their
// bits are in their order.
func (v *View) notice(i uint32, d float64) {
	if s := &v.sim.public.slots[i]; v.entries[i].stamp == 0 && s.id != 0 && s.wire != 0 {
		v.near = append(v.near, uint64(math.Float32bits(float32(d)))<<32|uint64(i))
	}
}

func (v *View) enter(i uint32, d, scale float64) {
	s, e := &v.sim.public.slots[i], &v.entries[i]
	v.serial = max(1, v.serial+1)
	*e = entry{born: uint32(s.born), stamp: v.serial, wire: s.wire, kind: uint8(s.kind.index), lost: allFields(s.kind)}
	v.held = append(v.held, s.wire)
	v.perKind[s.kind.index]++
	v.known = append(v.known, i)
	// If it had left and is back, the client need not forget it.
	if k := slices.IndexFunc(v.leaving, func(d departure) bool { return d.wire == s.wire }); k >= 0 {
		v.forget(k)
	}
	v.urge(i, s, e, d, scale)
}

// depart makes a known entity one that is to be forgotten; its entry is free for
// whoever gets the slot next. The hold of its number goes over.
func (v *View) depart(i int) {
	e := &v.entries[i]
	v.serial = max(1, v.serial+1)
	v.unsent++
	v.perKind[e.kind]--
	kind := v.sim.schema.Kinds[e.kind]
	v.leaving = append(v.leaving, departure{kind: kind, wire: e.wire, serial: v.serial})
	*e = entry{}
}

// forget ends a departure.
func (v *View) forget(k int) {
	v.released = append(v.released, v.leaving[k].wire)
	if !v.leaving[k].sent {
		v.unsent--
	}
	v.leaving = slices.Delete(v.leaving, k, k+1)
}

// choose takes of each kind only so many newcomers as there is room for, the
// nearest first. Where there is none, a newcomer that is clearly nearer than the
// furthest in sight takes its place in the next tick.
func (v *View) choose() {
	slices.Sort(v.near)
	most := v.config.MaxPerKind
	for k := range v.perKind {
		room := most - v.perKind[k]
		kept := v.near[:0]
		var refused uint32
		var nearest float64
		for _, n := range v.near {
			if v.sim.public.slots[uint32(n)].kind.index != k {
				kept = append(kept, n)
			} else if room > 0 {
				room--
				kept = append(kept, n)
			} else {
				if refused == 0 {
					nearest = float64(math.Float32frombits(uint32(n >> 32)))
				}
				refused++
			}
		}
		v.near = kept
		if refused > 0 {
			v.makeRoom(k, nearest)
		}
	}
}

// makeRoom lets the furthest of a kind leave if it is more than an eighth
// further than a newcomer at the square of a distance.
func (v *View) makeRoom(k int, nearest float64) {
	far, at := 0.0, -1
	for n, i := range v.known {
		s := &v.sim.public.slots[i]
		if s.kind.index != k || int(i) == v.own || !s.kind.HasBody {
			continue
		}
		if d := v.distance(s); d > far {
			far, at = d, n
		}
	}
	if at < 0 || far < float64(nearest*1.27) {
		return
	}
	i := v.known[at]
	v.known = slices.Delete(v.known, at, at+1)
	v.urgent = slices.DeleteFunc(v.urgent, func(q uint64) bool { return ^uint32(q) == i })
	v.depart(int(i))
}
