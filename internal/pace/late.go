package pace

import "time"

// Late says that the caller holds back what it would send, as confirmations have been late for a while. So the queue does not grow, and
// would not be known as ours: the path is narrow.
func (p *Path) Late(at time.Duration) {
	if p.mode != wide {
		return
	}
	s := p.look()
	p.noise = min(p.noise, 2*p.jitter)
	p.narrows(at)
	p.giveWay(at, s.arrived)
}
