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

	// farAway is what counts as the edge of sight in a view that sees everything.
	farAway = 128
)

// Update brings the view to the newest publication: what has come into sight, what has
// left it, and what has changed. Call it once after each Advance.
func (v *View) Update() {
	p := &v.sim.public
	if v.updated == p.now {
		return
	}
	v.updated, v.offered = p.now, false
	v.urgent = v.urgent[:0]
	v.refill()
	v.look()
	if v.rule != nil && v.rule.asked != p.now { // the view is newer than the last Advance
		v.judge()
	}
	if v.config.CorrectTicks > 0 && v.own >= 0 {
		v.setRight()
	}
	v.review()
	v.discover()
	v.rank()
	v.narrow = false // unless this tick is allowed less, too
}

// setRight corrects the player's own entity, if it is wrong and it is time.
func (v *View) setRight() {
	now, s := v.sim.public.now, &v.sim.public.slots[v.own]
	if s.jolted == now { // it is told anyway
		v.wrong, v.corrected = false, now
	}
	if !v.wrong || v.corrected != 0 && now-v.corrected < uint64(v.config.CorrectTicks) {
		return
	}
	v.wrong = false
	if b := v.sim.world.Body(s.id); b == nil || b.knownAt <= v.refused {
		v.corrected = now
		v.correct(uint32(v.own))
	}
}

func (v *View) refill() {
	if b := v.config.BytesPerTick; b < 0 {
		v.budget = math.MaxInt32
	} else {
		// What was not used is kept for one tick; what was overdrawn is paid back.
		v.budget = min(v.budget+b, 2*b)
	}
}

// Allow sets how many bytes this tick may use, if that is less than ViewConfig.BytesPerTick allows: for a client whose path is
// narrow. Call it after Update and before Next. Changes that do not fit wait, grow more urgent, and are then told at their
// newest. The player's own entity does not wait: with 0, Next returns its change and no other.
//
// While less is allowed than there could be, what is near grows more urgent by Nearness: it is told often, and what is far seldom.
func (v *View) Allow(bytes int) {
	v.narrow = bytes < v.budget
	v.budget = min(v.budget, max(bytes, 0))
}

// Nearness returns by how much an entity in sight should grow more urgent in each tick in which it has changed and is not told: 256
// where the player is, half of that at an eighth of the way to the edge of sight, 20 there. What the player owns is more urgent than
// all that is near. It is for a dialect that knows itself what its clients lack, and has no room for all of it.
func (v *View) Nearness(id ID) uint32 {
	i, ok := v.sim.public.slotOf.get(id)
	if !ok {
		return leastUrgency
	}
	s := &v.sim.public.slots[i]
	if s.owner != 0 && s.owner == v.player {
		return ownUrgency - 1
	}
	if !s.hasBody {
		return leastUrgency
	}
	edge := v.limit
	if v.config.Radius < 0 {
		edge = farAway * farAway
	}
	return nearness(v.distance(s), edge)
}

// nearness is Nearness by the squares of a distance and of that of the edge of sight.
func nearness(d, edge float64) uint32 {
	return leastUrgency + uint32(nearUrgency/(1+float64(64*d/edge)))
}

// look finds the player's own entity and looks from it.
func (v *View) look() {
	p, present := &v.sim.public, &v.sim.world.players
	at, ok := present.find(v.player)
	if !ok {
		v.own = -1
		return
	}
	// Mostly it is where it was.
	if id := present.list[at].Entity; id == 0 || v.own < 0 || p.slots[v.own].id != id {
		v.own = -1
		if i, ok := p.slotOf.get(id); ok {
			v.own = int(i)
		}
	}
	if v.own >= 0 {
		if s := &p.slots[v.own]; s.hasBody {
			v.x, v.y = s.x, s.y
		}
	}
}

// review goes through what was in sight.
func (v *View) review() {
	slots, all, limit := v.sim.public.slots, v.entries.all, v.limit
	kept := v.entries.list[:0]
	for _, x := range v.entries.list {
		s, e := &slots[x.slot], &all[x.at]
		if uint32(s.born) != e.born {
			v.depart(x)
			continue
		}
		if v.rule != nil && !v.rule.allows(x.slot) {
			v.depart(x)
			continue
		}
		d := 0.0
		if v.config.Radius >= 0 {
			d = v.distance(s)
		}
		if d > limit && s.hasBody { // its own is no distance away
			v.depart(x)
			continue
		}
		kept = append(kept, x)
		if e.lost != 0 || v.isNews(x.slot, s, e) {
			v.urge(x, s, e, d)
		}
	}
	v.entries.list = kept
}

// isNews reports whether the client should be told of what has changed since.
func (v *View) isNews(i uint32, s *slot, e *entry) bool {
	if v.plain {
		return s.changed > e.sent
	}
	return v.isOddNews(i, s, e)
}

// isOddNews is isNews of a view that leaves something out.
func (v *View) isOddNews(i uint32, s *slot, e *entry) bool {
	switch {
	case v.config.SightOnly:
		return false
	case v.config.OwnMoves && int(i) == v.own:
		return v.news(i, s, e) != 0
	case v.config.PredictTicks == 0:
		return s.changed > e.sent
	case s.other > e.sent || s.jumped > e.sent:
		return true
	}
	return s.changed > e.sent && v.updated-e.sent >= uint64(v.config.PredictTicks) && v.news(i, s, e) != 0
}

func (v *View) urge(x sighted, s *slot, e *entry, d float64) {
	more := uint32(leastUrgency)
	if v.config.Radius >= 0 && s.hasBody {
		if v.narrow {
			more = nearness(d, v.limit)
		} else {
			more += uint32(max(0, nearUrgency-float64(d*v.scale)))
		}
	}
	if s.owner != 0 && s.owner == v.player {
		more += ownUrgency
	}
	e.urgency = min(e.urgency+more, mostUrgency)
	v.urgent = append(v.urgent, pressing{uint64(e.urgency)<<32 | uint64(^x.slot), x.at})
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
	v.queue, v.rest = v.urgent, nil
	if len(v.urgent) > enough {
		front := split(v.urgent, enough)
		v.queue, v.rest = v.urgent[:front:front], v.urgent[front:]
	}
	heapify(v.queue)
}

// split brings at least so many of the most urgent to the front, and returns how
// many: all of an order of magnitude, or none.
func split(urgent []pressing, enough int) (front int) {
	var levels [urgencies]uint32 // how many there are, by order of magnitude
	for i := range urgent {
		levels[magnitude(urgent[i].urgency())]++
	}
	cut, n := urgencies, 0
	for cut > 0 && n < enough {
		cut--
		n += int(levels[cut])
	}
	for i := range urgent {
		if magnitude(urgent[i].urgency()) >= cut {
			urgent[i], urgent[front] = urgent[front], urgent[i]
			front++
		}
	}
	return front
}

// discover finds what has come into sight.
func (v *View) discover() {
	p := &v.sim.public
	v.near = v.near[:0]
	switch {
	case v.rule != nil:
		v.noticeAllowed()
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
	case len(v.entries.list) < p.numbered:
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
	for _, n := range v.near {
		v.enter(uint32(n), float64(math.Float32frombits(uint32(n>>32))))
	}
}

// scan notices the bodies within the radius.
func (v *View) scan() {
	p, r := &v.sim.public, v.config.Radius
	square := float64(r * r)
	x0, x1 := squareOf(v.x-r), squareOf(v.x+r)
	last := squareOf(v.y + r)
	for k := p.grid.seek(squareOf(v.y - r)); p.grid.upTo(k, last); k++ {
		for _, key := range p.grid.run(k, x0, x1) {
			i := uint32(key & (1<<24 - 1))
			if int(i) == v.own || v.entries.has(i) {
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
	if s := &v.sim.public.slots[i]; s.id != 0 && s.wire != 0 && !v.entries.has(i) {
		v.near = append(v.near, uint64(math.Float32bits(float32(d)))<<32|uint64(i))
	}
}

func (v *View) enter(i uint32, d float64) {
	s := &v.sim.public.slots[i]
	v.serial = max(1, v.serial+1)
	at := v.entries.add(i, entry{born: uint32(s.born), stamp: v.serial, wire: s.wire, kind: uint8(s.kind.index), lost: allFields(s.kind)})
	v.held = append(v.held, s.wire)
	v.perKind[s.kind.index]++
	// If it had left and is back, the client need not forget it.
	if k := slices.IndexFunc(v.leaving, func(d departure) bool { return d.wire == s.wire }); k >= 0 {
		v.forget(k)
	}
	v.urge(sighted{i, at}, s, &v.entries.all[at], d)
}

// depart makes a known entity one that is to be forgotten. The hold of its number
// goes over.
func (v *View) depart(x sighted) {
	e := &v.entries.all[x.at]
	v.serial = max(1, v.serial+1)
	v.unsent++
	v.perKind[e.kind]--
	kind := v.sim.schema.Kinds[e.kind]
	v.leaving = append(v.leaving, departure{kind: kind, wire: e.wire, serial: v.serial})
	v.entries.free(x)
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
	for n, x := range v.entries.list {
		s := &v.sim.public.slots[x.slot]
		if s.kind.index != k || int(x.slot) == v.own || !s.kind.HasBody {
			continue
		}
		if d := v.distance(s); d > far {
			far, at = d, n
		}
	}
	if at < 0 || far < float64(nearest*1.27) {
		return
	}
	x := v.entries.list[at]
	v.entries.list = slices.Delete(v.entries.list, at, at+1)
	v.urgent = slices.DeleteFunc(v.urgent, func(u pressing) bool { return u.at == x.at })
	v.depart(x)
}
