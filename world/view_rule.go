package world

import (
	"math/bits"
	"slices"
)

// A rule is what Game.Sees has said to one viewer of the newest publication. Nothing is allowed that was not asked.
type rule struct {
	asked uint64   // the publication
	may   []uint64 // a bit a slot
}

func (r *rule) allows(slot uint32) bool {
	word := int(slot >> 6)
	return word < len(r.may) && r.may[word]>>(slot&63)&1 != 0
}

func (r *rule) allow(slot uint32) { r.may[slot>>6] |= 1 << (slot & 63) }

// count returns how many entities are allowed.
func (r *rule) count() (n int) {
	for _, may := range r.may {
		n += bits.OnesCount64(may)
	}
	return n
}

// begin forgets what was said of the publication before.
func (r *rule) begin(p *published) {
	words := (p.high + 63) >> 6
	r.asked = p.now
	r.may = slices.Grow(r.may[:0], words)[:words]
	clear(r.may)
}

// ruleFor returns what a new view is to obey, or nil. A gateway's copy has everything. All spectators are one viewer.
func (s *Sim) ruleFor(p PlayerID, c *ViewConfig) *rule {
	switch {
	case s.game.Sees == nil || c.Copy:
		return nil
	case p == 0:
		return &s.spectators
	}
	return new(rule)
}

// judge asks Game.Sees for all views. Advance does that, and Update does not: several goroutines update views, and the game has one, in
// which its panic is contained.
func (s *Sim) judge() {
	if s.game.Sees == nil {
		return
	}
	s.world.Reindex() // the rule may ask what is near, and Step may have moved bodies since
	for _, v := range s.views {
		if v.rule != nil && v.rule.asked != s.public.now {
			v.judge()
		}
	}
}

// judge asks about what is in reach, each entity once.
func (v *View) judge() {
	p := &v.sim.public
	v.rule.begin(p)
	if v.look(); v.own >= 0 {
		v.rule.allow(uint32(v.own))
	}
	if v.config.Radius < 0 || v.player == 0 { // other spectators may be elsewhere
		for i := range p.high {
			v.ask(uint32(i))
		}
		return
	}
	for _, i := range p.global {
		v.ask(i)
	}
	near, edge := v.config.Radius, v.config.Radius+v.config.Hysteresis
	square := float64(near * near)
	x0, x1, last := squareOf(v.x-edge), squareOf(v.x+edge), squareOf(v.y+edge)
	for k := p.grid.seek(squareOf(v.y - edge)); p.grid.upTo(k, last); k++ {
		for _, key := range p.grid.run(k, x0, x1) {
			i := uint32(key & (1<<24 - 1))
			if d := v.distance(&p.slots[i]); d <= square || d <= v.limit && v.entries.has(i) {
				v.ask(i)
			}
		}
	}
}

func (v *View) ask(i uint32) {
	s := &v.sim.public.slots[i]
	if s.id != 0 && s.wire != 0 && int(i) != v.own && v.sim.game.Sees(v.sim.world, v.player, s.id) {
		v.rule.allow(i)
	}
}

// isStale reports whether the newest publication has not been judged by this view's rule: its values must not be told.
func (v *View) isStale() bool { return v.rule != nil && v.updated != v.sim.public.now }

// noticeAllowed notices what the rule allows and is not in sight yet.
func (v *View) noticeAllowed() {
	p := &v.sim.public
	if v.rule.count() == len(v.entries.list) { // what is in sight is allowed, and nothing else is
		return
	}
	square := float64(v.config.Radius * v.config.Radius)
	for word, may := range v.rule.may {
		for ; may != 0; may &= may - 1 {
			i := uint32(word<<6 + bits.TrailingZeros64(may))
			d := 0.0
			if s := &p.slots[i]; s.hasBody && int(i) != v.own && (v.config.Radius >= 0 || v.config.MaxPerKind > 0) {
				if d = v.distance(s); v.config.Radius >= 0 && d > square {
					continue
				}
			}
			v.notice(i, d)
		}
	}
}
