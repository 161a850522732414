package reliable

import (
	"time"

	"parley/internal/lend"
)

// heldLanes has the packets that the lanes of a receiver hold.
type heldLanes struct {
	lanes   [lanes]parcels
	data    int // the buffers of all that is held
	charged int // how much of the shared budget it takes
}

// size returns the memory that it takes.
func (h *heldLanes) size() int {
	n := h.data
	for i := range h.lanes {
		n += len(h.lanes[i].ring) * parcelBytes
	}
	return n
}

// nothingHeld is the queue of every lane that holds nothing. It is not changed.
var nothingHeld parcels

// heldIn returns the packets that a lane holds.
func (r *Receiver) heldIn(lane int) *parcels {
	if r.waits == nil {
		return &nothingHeld
	}
	return &r.waits.lanes[lane]
}

// hold keeps a packet until earlier ones have come.
func (r *Receiver) hold(c *parcel) {
	if r.waits == nil {
		r.waits = r.pool.takeLanes(r.cfg.Overhead)
	}
	q := &r.waits.lanes[c.lane-1]
	if r.pool.waiting > r.pool.maxHeld()/2 {
		q.usual = 0 // memory is short: start with the smallest ring
	}
	q.insert(r.pool, c)
	r.waits.data += lend.Room(len(c.data))
	r.held++
	r.charge()
}

// mayHold reports whether a packet may wait for earlier ones: within the receiver's own bounds, and within
// the budget that all share. When the budget is used up, the receiver's own share has room only for packets
// that are delivered soon. A packet far ahead would keep that room until all packets between have come, one
// a round trip.
func (r *Receiver) mayHold(p *Packet) bool {
	n := len(p.Data)
	if r.heldBytes()+n+r.cfg.Overhead > r.cfg.MaxHeld || int(r.held) >= r.cfg.MaxHeldPackets {
		return false
	}
	n = lend.Room(n) + parcelBytes
	if r.pool.waiting+n <= r.pool.maxHeld() {
		return true
	}
	if r.waits != nil {
		n += r.waits.size()
	}
	if n <= ownHeldBytes && p.Number-r.expected(int(p.Lane-1)) <= ownHeldSpan {
		return true
	}
	r.stats.Crowded++
	r.crowded = true
	return false
}

// expected returns the number up to which a lane has received all packets, or nearly all.
func (r *Receiver) expected(lane int) uint64 {
	if r.cfg.Rules[lane] == Contiguous {
		return r.holes.Complete()
	}
	return r.lanes[lane].upto
}

// charge updates the shared budget to what this receiver holds now beyond its own share.
func (r *Receiver) charge() {
	over := max(r.waits.size()-ownHeldBytes, 0)
	r.pool.waiting += over - r.waits.charged
	r.waits.charged = over
}

// leaveHeld gives back lanes that hold nothing. A receiver that holds much again and again
// keeps them, as they remember their usual size.
func (r *Receiver) leaveHeld() {
	if r.held > 0 || r.waits == nil {
		return
	}
	for i := range r.waits.lanes {
		if r.waits.lanes[i].usual > lend.FirstTable {
			return
		}
	}
	r.pool.giveLanes(r.waits)
	r.waits = nil
}

// judgeLane decides the fate of a fresh packet by the rule of its lane.
func (r *Receiver) judgeLane(p *Packet) Fate {
	l := &r.lanes[p.Lane-1]
	switch r.cfg.Rules[p.Lane-1] {
	case Linked:
		return r.judgeLinked(l, r.heldIn(int(p.Lane-1)), p)
	case Contiguous:
		if p.Number == r.holes.Complete() {
			return Ready
		}
		return Held
	case Patient:
		return r.judgePatient(l, r.heldIn(int(p.Lane-1)), p)
	case Newest:
		if l.any && p.Number < l.last {
			return Outdated
		}
	}
	return Ready
}

// judgeLinked follows replica, Order: "The receiver delivers a packet when its
// predecessor is delivered, or at once when the value is 0". The packets of an
// order form one chain, so the predecessor of the next one is always the last
// delivered; anything that branches off is against the rules.
func (r *Receiver) judgeLinked(l *receiveLane, held *parcels, p *Packet) Fate {
	before := p.Number - p.Back
	switch {
	case p.Back > p.Number:
		return Violation
	case p.Back == 0:
		// All earlier ones are acknowledged, so none can be missing or waiting.
		if l.any && p.Number < l.last || held.count > 0 && held.at(0).number < p.Number {
			return Violation
		}
		return Ready
	case l.any && before == l.last:
		return Ready
	case l.any && before < l.last:
		return Violation
	case r.seen.Check(before) == Seen && !held.has(before):
		// "A link to a received packet that is not of that order is a protocol
		// error."
		return Violation
	}
	return Held
}

// linkedTo reports whether a held packet of another lane names p as its predecessor.
func (r *Receiver) linkedTo(p *Packet) bool {
	for i := range r.lanes {
		if r.cfg.Rules[i] != Linked || p.Lane == uint8(i)+1 {
			continue
		}
		held := r.heldIn(i)
		for j := 0; j < held.count; j++ {
			c := held.at(j)
			if c.before == p.Number {
				return true
			}
			if c.before > p.Number {
				break
			}
		}
	}
	return false
}

// judgePatient follows replica, Order: "an ordered packet that comes later still
// is acknowledged, not delivered, and reported to the application as skipped".
func (r *Receiver) judgePatient(l *receiveLane, held *parcels, p *Packet) Fate {
	if p.Number < l.upto {
		return Skipped
	}
	if r.advance(l, held) == p.Number {
		return Ready
	}
	return Held
}

// advance moves the mark of a patient lane over numbers that were received, or are so old that they
// cannot come any more.
func (r *Receiver) advance(l *receiveLane, held *parcels) uint64 {
	if newest, ok := r.seen.Newest(); ok && newest >= FilterSpan {
		l.upto = max(l.upto, newest-FilterSpan+1)
	}
	for r.seen.Check(l.upto) == Seen && !held.startsWith(l.upto) {
		l.upto++
	}
	return l.upto
}

func (q *parcels) startsWith(n uint64) bool { return q.count > 0 && q.at(0).number == n }

// holdTime is how long a patient lane waits: "holds an ordered packet behind a
// hole for at most 4 round trips (at least 200 ms)".
func (r *Receiver) holdTime() time.Duration { return max(4*r.rtt, r.cfg.MinHold) }

// release delivers held packets whose predecessors have come, or that have waited long enough.
func (r *Receiver) release(at time.Duration) {
	for i := range r.lanes {
		l, held := &r.lanes[i], r.heldIn(i)
		for held.count > 0 && r.releasable(at, l, held, r.cfg.Rules[i]) {
			c := *held.at(0)
			held.pop(r.pool)
			r.waits.data -= lend.Room(len(c.data))
			r.held--
			*r.deliver(c.lane, c.number, len(c.data)) = c
		}
	}
	if r.crowded && r.held == 0 {
		// A refused packet is resent only when its timer runs out. An acknowledgement tells the peer to
		// resend it now.
		r.crowded = false
		r.remind(at)
	}
	if r.waits != nil {
		r.charge()
		r.leaveHeld()
	}
}

func (r *Receiver) releasable(at time.Duration, l *receiveLane, held *parcels, rule Rule) bool {
	first := held.at(0)
	switch rule {
	case Linked:
		return l.any && first.before == l.last
	case Contiguous:
		return first.number < r.holes.Complete()
	case Patient:
		return r.advance(l, held) == first.number || at >= first.at+r.holdTime()
	}
	return true
}
