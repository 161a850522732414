package pace

import "time"

// Found says that the path takes rate bytes a second, and that what waits on it takes queue to go. It is for a dialect that has
// measured this itself, with few and small packets, before a Path could see it.
func (p *Path) Found(at time.Duration, rate int64, queue time.Duration) {
	p.enter(alone)
	p.noise = min(p.noise, 2*p.jitter)
	p.known, p.paid, p.queue, p.credit = rate, 0, queue, 0 // what was owed before is in queue
	p.rate = max(rate*31/32, leastRate)
	p.payBack(at, queue)
}

// Wanted returns how long packets are to wait on a narrow path, so that it is used and no more.
func (p *Path) Wanted() time.Duration { return p.target() }
