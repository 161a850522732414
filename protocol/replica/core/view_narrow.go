package core

import (
	"slices"
	"time"
)

// A client whose path is narrow is told less than it lacks: first what concerns it, then the rest in the order of its urgency,
// which grows in each tick in which an entity has something to tell and is not told. So what is near is told often and
// what is far seldom, nothing starves, and all is told at its newest.

// Own is the urgency of what a player cannot do without, as its own entity: it is told in each tick, whatever the budget.
const Own = 1 << 16

const (
	// plainUrgency is the urgency of all entities if nobody says another.
	plainUrgency = 16

	// mostUrgency keeps what waits for ever from overflowing.
	mostUrgency = 1 << 30

	// datagramBytes are the headers of IPv4 and UDP, which a budget of the path counts, and packetBytes all that a packet has
	// besides values, if they are of one kind of entity with few variables.
	datagramBytes = 28
	packetBytes   = datagramBytes + 13 + 3*4
)

// sendNarrow sends a view the most urgent of what it lacks, within what the path takes, and what it cannot do without. If
// that is all, the view is together.
func (c *Conn) sendNarrow(now time.Time, budget int, urgency func(*Entity) uint32) {
	v, d := c.endpoint.view, &c.mux.draft
	v.part()
	whole := c.collectUrgent(d, budget, urgency)
	d.rank()
	if c.sendRanked(now, d.ranked, maxPool) && whole {
		c.nowTogether()
	}
}

// collectUrgent finds what a view that is not together lacks, the most urgent first, until the budget is used, and reports whether
// that was all.
func (c *Conn) collectUrgent(d *draft, budget int, urgency func(*Entity) uint32) bool {
	v := c.endpoint.view
	left := c.collectVariables(d, budget-packetBytes)
	d.urgent = d.urgent[:0]
	for i, s := range v.order {
		if s.entity.version <= s.upto {
			continue
		}
		more := uint32(plainUrgency)
		if urgency != nil {
			more = urgency(s.entity)
		}
		s.urgency = min(s.urgency+more, mostUrgency)
		if more >= Own {
			s.urgency = mostUrgency // before all others, also in the next tick
		}
		d.urgent = append(d.urgent, uint64(^s.urgency)<<32|uint64(i))
	}
	slices.Sort(d.urgent)
	for _, u := range d.urgent {
		s := v.order[uint32(u)]
		own := s.urgency == mostUrgency
		if left <= 0 && !own || len(d.pool) >= maxPool {
			return false
		}
		d.rest = !own // so that the first packet has it
		left -= c.collectSlot(d, s)
		s.urgency = 0
	}
	return true
}
