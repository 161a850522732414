package core

import (
	"time"

	"parley/internal/reliable"
)

// Replicate sends the newest values of variables that have changed or were lost, at most budget
// bytes in all, and no more than the path to the client takes. Entities take turns, so that every value is sent in the end. Call
// it once a tick. It sends only variables that the client has linked.
func (c *Conn) Replicate(budget int) { c.ReplicateBy(budget, nil) }

// ReplicateBy is Replicate for a client to whom not all entities matter alike. While the path to it takes less than there is to
// tell, urgency is called for each entity that it lacks. An entity of twice the urgency is told twice as often, one of Own
// in each tick, whatever the path takes.
func (c *Conn) ReplicateBy(budget int, urgency func(*Entity) uint32) {
	if c.endpoint.mayTalk() != nil || !c.endpoint.link.isFinished() {
		return
	}
	c.replicate(budget, c.endpoint.sender.Budget(c.mux.now), urgency)
}

// replicate is ReplicateBy on a path that takes so many bytes.
func (c *Conn) replicate(budget, path int, urgency func(*Entity) uint32) {
	now := c.mux.now
	c.endpoint.now = now
	v := c.openView()
	c.endpoint.nextTable()
	v.sweep(c.endpoint.store)
	c.sendGone(now)
	if !c.endpoint.link.all(len(c.endpoint.store.items)) {
		v.part()
	}
	if path < budget {
		if !v.together || !c.sendTogether(now, path-(path/maxPacketBytes+1)*datagramBytes) {
			c.sendNarrow(now, path, urgency)
		}
	} else if !v.together || !c.sendTogether(now, budget) {
		c.sendApart(now, budget)
	}
	v.told = c.endpoint.store.version
	c.mux.conns.Load(c)
}

// sendTogether sends a view that is together what all views like it lack, or nothing, and
// reports false, if that is over the budget.
func (c *Conn) sendTogether(now time.Time, budget int) bool {
	v := c.endpoint.view
	if v.base == c.endpoint.store.version {
		return true
	}
	f := c.mux.frames.of(v, c.mux)
	if f.bytes > budget || !f.hasRoom(c.endpoint.looseBytes()) {
		v.part()
		return false
	}
	for i := range f.packets {
		if !c.sendPacket(now, &f.packets[i]) {
			v.part()
			v.note(f.packets[:i])
			return true // as much as there was room for
		}
	}
	v.base = c.endpoint.store.version
	return true
}

// sendPacket sends a packet of a frame, which gets this connection's number and time when it goes
// out: see Endpoint.address.
func (c *Conn) sendPacket(now time.Time, p *framePacket) bool {
	tag := c.endpoint.store.batches.begin(c.endpoint.view)
	if c.endpoint.sender.Send(now, nil, reliable.Options{Report: true, Tag: tag, Shared: p.data}) != nil {
		c.endpoint.store.batches.end(c.endpoint.view, tag)
		return false
	}
	p.cargo.refs++
	p.cargo.sends++
	c.endpoint.store.batches.at(tag).cargo = p.cargo
	return true
}

// sendApart sends a view what it lacks of each value, within the budget. If that is all, the
// view is together.
func (c *Conn) sendApart(now time.Time, budget int) {
	d := &c.mux.draft
	whole := c.collect(d, budget)
	d.rank()
	if c.sendRanked(now, d.ranked, max(budget, minReplicateBytes)) && whole {
		c.nowTogether()
	}
}

// sendRanked sends values that were collected, within the budget, and reports whether these were all.
func (c *Conn) sendRanked(now time.Time, ranked []uint64, budget int) bool {
	v, d := c.endpoint.view, &c.mux.draft
	most := v.most - c.endpoint.looseBytes() // the first leaves room for them
	for rest := ranked; len(rest) > 0; most = v.most {
		size := min(most, budget)
		if c.endpoint.sender.Ready(size) != nil {
			return false
		}
		p, n := d.write(c.endpoint.buffers, &c.endpoint.store.cargos, rest, size)
		sent := n > 0 && c.sendPacket(now, &p)
		if sent {
			v.note([]framePacket{p})
			budget -= len(p.data.Bytes())
		}
		p.release(c.endpoint.buffers, &c.endpoint.store.cargos)
		if !sent {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// nowTogether notes that a view was sent all that it lacked.
func (c *Conn) nowTogether() {
	if c.endpoint.link.all(len(c.endpoint.store.items)) {
		c.endpoint.view.together, c.endpoint.view.base = true, c.endpoint.store.version
	}
}

// note keeps which versions were sent, in a view that is not together.
func (v *view) note(packets []framePacket) {
	for _, p := range packets {
		for _, x := range p.cargo.values {
			if x.kind == ofTheGame {
				v.sent[x.variable] = x.version
			} else {
				v.kinds[x.kind].used[x.id].sent[x.variable] = x.version
			}
		}
	}
}

// minReplicateBytes is room for one value of the largest size, which any budget has.
const minReplicateBytes = 13 + 8 + MaxValueBytes

// collect finds what a view that is not together lacks, oldest round first, up to what the
// budget can hold at best, and reports whether it looked at all.
func (c *Conn) collect(d *draft, budget int) bool {
	v := c.endpoint.view
	left := c.collectVariables(d, budget)
	for n := len(v.order); n > 0; n-- {
		if left <= 0 || len(d.pool) >= maxPool {
			return false
		}
		if v.at >= len(v.order) {
			v.at = 0
		}
		left -= c.collectSlot(d, v.order[v.at])
		v.at++
	}
	return true
}

// collectVariables begins with what is lacking of the variables of the game, and returns what is left of the budget.
func (c *Conn) collectVariables(d *draft, budget int) (left int) {
	v, s := c.endpoint.view, c.endpoint.store
	d.pool, d.rest = d.pool[:0], false
	for len(v.sent) < len(s.variables) { // before it is together, as then all are linked
		v.sent = append(v.sent, 0)
	}
	left = budget
	for i := range s.variables {
		if x := &s.variables[i]; x.version > v.sent[i] && c.endpoint.link.linked(x.item) {
			left -= 3 + len(x.data)
			d.add(sentValue{x.version, ofTheGame, uint16(i), 0, 0}, x.data)
		}
	}
	return left
}

// collectSlot adds what one slot lacks and returns how many bytes that takes at
// least.
func (c *Conn) collectSlot(d *draft, s *slot) (size int) {
	e := s.entity
	if e.version <= s.upto {
		return 0
	}
	first := c.endpoint.store.kinds[e.kind].firstItem
	all := true
	for i, version := range e.versions {
		switch {
		case version <= s.sent[i]:
		case !c.endpoint.link.linked(first + i):
			all = false
		default:
			size += 2 + len(e.data[i])
			d.add(sentValue{version, s.kind, uint16(i), s.id, 0}, e.data[i])
		}
	}
	if size == 0 && all {
		s.upto = e.version
	}
	return size
}
