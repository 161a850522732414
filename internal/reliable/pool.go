package reliable

import (
	"time"

	"parley/internal/lend"
	"parley/internal/metric"
)

// Pool is what the connections of one loop share: the memory that they hold only while they have something in flight, a
// bound on the packets that all of them hold behind gaps, and the round trips of all. It is not safe for several
// goroutines. The zero value is ready.
type Pool struct {
	lend.Buffers

	// MaxHeld bounds the bytes that all receivers together hold behind gaps, beyond a small share that each
	// always has. A packet over the bound is not acknowledged, so the peer sends it again. 0 means 32 MiB.
	MaxHeld int

	// RoundTrips are the round trips that acknowledgements have shown, of all senders.
	RoundTrips metric.Times

	flights lend.Tables[flight]
	parcels lend.Tables[parcel]
	ranges  lend.Tables[ackRange]
	lanes   lend.Spares[*heldLanes]
	epoch   time.Time // when the clock of the senders' paths starts
	waiting int       // bytes of the packets that all receivers hold behind a gap beyond their own shares, with their tables
}

// maxKeptLanes bounds the heldLanes that are kept for later use.
const maxKeptLanes = 256

// open returns a pool that is ready for a connection: p, or a new one if p is nil.
func (p *Pool) open() *Pool {
	if p == nil {
		p = new(Pool)
	}
	if p.OnTrim == nil {
		p.OnTrim = p.trim
	}
	return p
}

func (p *Pool) trim() {
	p.flights.Trim()
	p.parcels.Trim()
	p.ranges.Trim()
	p.lanes.Trim()
}

// Held returns how many bytes the packets that wait behind gaps take of the budget that all receivers share.
func (p *Pool) Held() int { return p.waiting }

// since returns the time on the clock of the pool's paths, which starts with the first call.
func (p *Pool) since(now time.Time) time.Duration {
	if p.epoch.IsZero() {
		p.epoch = now
	}
	return now.Sub(p.epoch) + 1
}

func (p *Pool) maxHeld() int {
	if p.MaxHeld != 0 {
		return p.MaxHeld
	}
	return heldOfAll
}

// takeLanes returns empty lanes that count each packet with an overhead, in bytes.
func (p *Pool) takeLanes(overhead int) *heldLanes {
	h, ok := p.lanes.Take()
	if !ok {
		h = new(heldLanes)
	}
	for i := range h.lanes {
		h.lanes[i].each = overhead
	}
	return h
}

func (p *Pool) giveLanes(h *heldLanes) {
	if p.lanes.Len() < maxKeptLanes {
		p.lanes.Give(h)
	}
}
