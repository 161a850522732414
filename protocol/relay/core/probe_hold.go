package core

import "time"

// restrain bounds what a path gets that is not known to be narrow. What it takes is found out with little at first, and again when probes do
// not come back as they did.
func (p *probes) restrain(e *Endpoint, bytes int) int {
	p.hold(e)
	switch {
	case p.held > 0:
		return min(bytes, heldBytes)
	case e.sender.Narrow():
		p.most, p.careful = 0, false
		return bytes
	case p.least == 0 && e.probeTime()-p.opened < firstWait:
		return 0
	case p.most > 0:
		return min(bytes, int(p.most))
	case p.overdue > 0 && p.loss < badLuck:
		return min(bytes, doubtBytes)
	case p.overdue > 0 && p.loss < worseLuck:
		return min(bytes, 2*doubtBytes)
	case p.overdue > 0:
		return min(bytes, 4*doubtBytes)
	}
	return bytes
}

// raise lets a tick send twice as much when a probe came in time behind about as much as it may send now, or if there is not so much to
// send, and half as much when it did not come in time. It is careful if there was too much: then the path sees its queue begin.
func (p *probes) raise(one *probe, at time.Duration) {
	switch {
	case p.most == 0 || one.at < p.raised:
	case p.delayed:
		p.most, p.raised = max(p.most/2, firstBytes), at
	case at-p.opened > calmAfter && !p.careful:
		p.most = 0
	case one.bytes < p.most*3/4:
	default:
		p.raised = at
		if p.careful {
			p.most += p.most / 4
		} else {
			p.most *= 2
		}
		if p.most > mostFirst {
			p.most, p.careful = 0, false
		}
	}
}

// hold has little sent from now on if enough probes are late or lost: the path has become narrow, and its queue has overflowed or is about to. What
// is dropped then is not seen, as probes go ahead of a tick, when there is room again. So what was sent before that may look like a
// higher rate than there is. What is sent from then on does not: while the queue empties, its bytes come at the rate of the path.
func (p *probes) hold(e *Endpoint) {
	doubts := p.overdue
	if p.late {
		doubts++
	}
	if p.held == 0 && doubts >= manyDoubts && !e.sender.Narrow() {
		p.held, p.most, p.flow = e.probeTime(), 0, flow{}
	}
}

// flow is what came while little was sent.
type flow struct {
	probes uint8
	began  time.Duration // when the first probe was confirmed
	bytes  int64         // sent between the first and the newest
}

// heldConfirmed takes the confirmation of a probe. While little is sent, and when enough have come, the path is told their rate.
func (p *probes) heldConfirmed(e *Endpoint, now time.Time, one *probe) {
	at := e.probeTime()
	switch {
	case p.held == 0 || one.at <= p.held+probeEvery:
		return
	case !p.late: // nothing waits, or no more
		p.held = 0
		if p.flow.probes > 0 {
			p.most, p.careful, p.raised = 2*heldBytes, true, at
		}
		return
	case p.flow.probes == 0:
		p.flow.began = at
	default:
		p.flow.bytes += int64(one.bytes)
	}
	if p.flow.probes++; p.flow.probes < heldProbes || at <= p.flow.began {
		return
	}
	p.held = 0
	rate := p.flow.bytes * int64(time.Second) / int64(at-p.flow.began)
	if known := e.sender.Path().Rate; known == 0 || rate < known {
		e.sender.Found(now, rate, p.waiting(one, rate))
	}
}

// waiting returns how long what was sent since a probe that was just confirmed is still on its way because it waits, at a rate.
func (p *probes) waiting(one *probe, rate int64) time.Duration {
	bytes := int64(p.bytes)
	for i := range p.list {
		if other := &p.list[i]; other.state == probeFlying && other.at > one.at {
			bytes += int64(other.bytes)
		}
	}
	return max(time.Duration(bytes*int64(time.Second)/max(rate, 1))-p.usual, 0)
}
