package simnet

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// Link is one direction of a path between hosts. Routes that share a Link share its queue and its rate: a bottleneck.
// Each Link has a random source of its own, so traffic on one does not affect another.
type Link struct {
	net    *Network // nil for the links of a Live
	isOwn  bool     // somebody set its profile: Default leaves it alone
	rng    rand.PCG
	p      Profile
	counts counts

	// Probabilities as thresholds against 53 random bits: one compare each, and no float on the way of a datagram.
	loss, duplicate, corrupt, reorder uint64
	burst                             burst

	busyUntil int64  // when the last bit of the last datagram in the queue has been sent
	busyRest  uint64 // the part of a nanosecond that busyUntil lacks, in 1/Rate
	lastAt    int64  // the latest arrival so far, for KeepOrder
}

// burst is the state of a Gilbert model.
type burst struct {
	on, bad              bool
	goodToBad, badToGood uint64
	lossGood, lossBad    uint64
}

// initLink makes l ready; stream tells apart the links of one network.
func initLink(l *Link, n *Network, seed, stream uint64, p Profile) {
	l.net = n
	l.rng.Seed(mix(seed, stream), mix(stream, seed))
	l.set(p)
}

// Profile returns the present profile of the link.
func (l *Link) Profile() Profile {
	p := l.p
	if p.Burst != nil {
		g := *p.Burst
		p.Burst = &g
	}
	return p
}

// SetProfile changes the link from now on. Datagrams in its queue or in flight are not affected, nor is the state of
// the burst model. Later calls of Default do not change the link. SetProfile panics if the profile is not valid, or if
// the link is one of a Live (see Live.SetProfile).
func (l *Link) SetProfile(p Profile) {
	if l.net == nil {
		panic("simnet: the profile of a Live's link is set with Live.SetProfile")
	}
	l.set(p)
	l.isOwn = true
	l.net.trace.profile(l.net.now, &l.p)
}

// Stats counts the datagrams that entered this link. Datagrams that a partition or a filter stopped did not enter.
func (l *Link) Stats() Stats { return l.counts.stats() }

// Backlog returns how long a datagram sent now would wait in the link's queue.
func (l *Link) Backlog() time.Duration {
	if l.net == nil {
		return 0
	}
	return time.Duration(max(0, l.busyUntil-l.net.now))
}

func (l *Link) set(p Profile) {
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	l.p = p
	l.loss, l.duplicate = threshold(p.Loss), threshold(p.Duplicate)
	l.corrupt, l.reorder = threshold(p.Corrupt), threshold(p.Reorder)
	wasBad := l.burst.bad
	l.burst = burst{}
	if p.Burst != nil {
		g := *p.Burst // a copy, so that the caller's changes do not reach us
		l.p.Burst = &g
		l.burst = burst{
			on: true, bad: wasBad,
			goodToBad: threshold(g.GoodToBad), badToGood: threshold(g.BadToGood),
			lossGood: threshold(g.LossGood), lossBad: threshold(g.LossBad),
		}
	}
}

// threshold makes a probability into the number that 53 random bits stay under with that probability. Scaling by a
// power of two is exact, so it is the same on all machines.
func threshold(p float64) uint64 { return uint64(p * (1 << 53)) }

// chance is true with the probability that threshold was given. It draws nothing for 0, so a link without
// a fault does not depend on that fault's draws.
func (l *Link) chance(threshold uint64) bool {
	return threshold > 0 && l.rng.Uint64()>>11 < threshold
}

// upTo draws a time between 0 and d, both included, each as likely as the others within 2^-64.
func (l *Link) upTo(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(l.rng.Uint64(), uint64(d)+1)
	return int64(hi)
}

// enter takes a datagram with its headers into the link. It answers when its last bit has been sent, or the fate of one
// that did not come through.
func (l *Link) enter(now int64, packetBytes int) (sentAt int64, fate Fate) {
	if l.p.MTU > 0 && packetBytes > l.p.MTU {
		return 0, FateMTU
	}
	sentAt = now
	if l.p.Rate > 0 {
		var ok bool
		if sentAt, ok = l.serialize(now, packetBytes); !ok {
			return 0, FateQueue
		}
	}
	if l.chance(l.loss) {
		return 0, FateLost
	}
	if l.burst.on && l.burstLoses() {
		return 0, FateBurst
	}
	return sentAt, 0
}

// serialize queues a datagram behind those before it. Fractions of a nanosecond carry over while the link
// is busy, so a long queue drains at exactly Rate.
func (l *Link) serialize(now int64, packetBytes int) (sentAt int64, ok bool) {
	if l.busyUntil <= now {
		l.busyUntil, l.busyRest = now, 0
	}
	queue := int64(l.p.Queue)
	if queue == 0 {
		queue = int64(DefaultQueue)
	}
	if l.busyUntil-now > max(queue, 0) {
		return 0, false
	}
	rate := uint64(l.p.Rate)
	total := uint64(packetBytes)*8*uint64(time.Second) + min(l.busyRest, rate-1)
	l.busyUntil += int64(total / rate)
	l.busyRest = total % rate
	return l.busyUntil, true
}

func (l *Link) burstLoses() bool {
	b := &l.burst
	if b.bad {
		b.bad = !l.chance(b.badToGood)
	} else {
		b.bad = l.chance(b.goodToBad)
	}
	if b.bad {
		return l.chance(b.lossBad)
	}
	return l.chance(b.lossGood)
}

// arrival draws when a datagram whose last bit was sent at sentAt arrives. A copy is not bound by KeepOrder.
func (l *Link) arrival(sentAt int64, isCopy bool) (at int64, heldBack bool) {
	at = sentAt + int64(l.p.Delay) + l.upTo(l.p.Jitter)
	if l.chance(l.reorder) {
		return at + l.upTo(l.p.ReorderBy), true
	}
	if l.p.KeepOrder && !isCopy {
		at = max(at, l.lastAt)
		l.lastAt = at
	}
	return at, false
}

// flip flips one to seven bits of b. It draws each bit anew, and one flipped twice is as before: so it flips an odd
// number of bits, and never none.
func (l *Link) flip(b []byte) {
	times := 1 + 2*l.upTo(3)
	for range times {
		bit := l.upTo(time.Duration(len(b)*8 - 1))
		b[bit/8] ^= 1 << (bit % 8)
	}
}
