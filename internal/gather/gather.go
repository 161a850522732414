package gather

import "time"

// Gatherer decides when a reader that the poller woke waits a moment before it reads. The zero value never waits.
//
// A wake-up costs 5 to 10 µs, much more than a datagram. A server with a thousand players
// gets a datagram each 50 µs. It would be woken for almost each of them, with cold caches.
// If it reads a quarter of a millisecond later, it is woken once for many. Network cards
// coalesce their interrupts for the same reason. While waiting pays, the reader keeps
// waiting without the poller, which costs more than the wait.
//
// For a peer that asks and waits for the answer, the wait is a loss. So after a wait that
// brought little, the reader does not wait for a while. That while grows with each useless
// wait.
type Gatherer struct {
	Span    time.Duration // how long to wait; 0 means never
	woke    time.Time     // when the reader was woken last
	skip    int           // wakes to let pass without a wait
	penalty int           // the value of skip after the last useless wait
	row     int           // waits since the reader was woken
}

// Due is called when the reader was woken. It reports whether the reader should wait.
func (g *Gatherer) Due(now time.Time) bool {
	often := now.Sub(g.woke) < below
	g.woke, g.row = now, 0
	switch {
	case g.Span <= 0 || !often:
		return false
	case g.skip > 0:
		g.skip--
		return false
	}
	return true
}

// Brought is called after a wait with the number of datagrams, and how many messages of the kernel had them. It reports
// whether the reader is to wait again when it has handled them. Bulk traffic needs no wait: the sender of a long train
// waits for its acknowledgement.
func (g *Gatherer) Brought(n, messages int) bool {
	if n >= worth && n < train*messages {
		g.penalty = 0
		g.row++
		return g.row < maxRow && n < enough
	}
	if g.row == 0 {
		g.penalty = min(2*g.penalty+1, MaxSkip)
		g.skip = g.penalty
	}
	return false
}
