package udp

import "time"

// gatherer decides when a reader that the poller woke waits a moment before it reads.
//
// A wake-up costs 5 to 10 µs, much more than a datagram. A server with a thousand players
// gets a datagram each 50 µs. It would be woken for almost each of them, with cold caches.
// If it reads a quarter of a millisecond later, it is woken once for many. Network cards
// coalesce their interrupts for the same reason. While waiting pays, the reader keeps
// waiting without the poller, which costs more than the wait.
//
// For a peer that asks and waits for the answer, the wait is a loss. So after a wait that
// brought little, the reader does not wait for a while. That while grows with each useless
// wait. The waits after a wait have a while of their own: a game's clients may send all at
// once, and then nothing until their next tick.
type gatherer struct {
	span time.Duration // how long to wait; 0 means never
	woke time.Time     // when the reader was woken last
	row  int           // waits since the reader was woken

	first, next vain // of the first wait after a wake, and of those that follow it
}

// vain is how often waits of a kind were useless lately.
type vain struct {
	skip    int // waits to let pass
	penalty int // the value of skip after the last useless wait
}

// due reports whether the next wait is to be tried.
func (v *vain) due() bool {
	if v.skip > 0 {
		v.skip--
		return false
	}
	return true
}

// took notes whether a wait was worth it.
func (v *vain) took(worth bool) {
	if worth {
		v.penalty = 0
		return
	}
	v.penalty = min(2*v.penalty+1, maxGatherSkip)
	v.skip = v.penalty
}

// due is called when the reader was woken. It reports whether the reader should wait.
func (g *gatherer) due(now time.Time) bool {
	often := now.Sub(g.woke) < gatherBelow
	g.woke, g.row = now, 0
	return g.span > 0 && often && g.first.due()
}

// brought is called after a wait with the number of datagrams, and how many messages of the kernel had them. It reports
// whether the reader is to wait again when it has handled them. Bulk traffic needs no wait: the sender of a long train
// waits for its acknowledgement.
func (g *gatherer) brought(n, messages int) bool {
	worth := n >= gatherWorth && n < gatherTrain*messages
	if g.row == 0 {
		g.first.took(worth)
	} else {
		g.next.took(worth)
	}
	if !worth {
		return false
	}
	g.row++
	return g.row < maxGatherRow && n < gatherEnough && g.next.due()
}
