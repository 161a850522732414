package udp

import "time"

// gatherer decides when a reader that the poller woke waits a moment before it reads.
//
// To wake up costs some 5 to 10 µs, much more than a datagram. A server with a thousand
// players gets one each 50 µs, so it would be woken for almost each of them, with its
// code and tables out of the caches again. If it reads a quarter of a millisecond later, it is woken once for
// many. What a network card does with its interrupts is the same. While that pays it goes on so,
// without the poller, which costs more than the wait.
//
// Who asks and waits for the answer would pay for it and gain nothing. So a wait that brought
// little is not repeated for a while, and then for longer and longer.
type gatherer struct {
	span    time.Duration // how long to wait; 0 is never
	woke    time.Time     // when the reader was woken last
	skip    int           // wakes to let pass without a wait
	penalty int           // how many that were after the last wait in vain
	row     int           // waits since the reader was woken
}

// due is called when the reader was woken, and says whether it shall wait.
func (g *gatherer) due(now time.Time) bool {
	often := now.Sub(g.woke) < gatherBelow
	g.woke, g.row = now, 0
	switch {
	case g.span <= 0 || !often:
		return false
	case g.skip > 0:
		g.skip--
		return false
	}
	return true
}

// brought is told how many datagrams there were after a wait, and says whether the reader shall
// wait again when it has handled them: not for bulk, which is there without a wait.
func (g *gatherer) brought(n int) bool {
	if n >= gatherWorth {
		g.penalty = 0
		g.row++
		return g.row < maxGatherRow && n < gatherEnough
	}
	if g.row == 0 {
		g.penalty = min(2*g.penalty+1, maxGatherSkip)
		g.skip = g.penalty
	}
	return false
}
