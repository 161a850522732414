package core

import "time"

// probed takes the confirmation of a number, and reports whether it is that of a repeat. If not, it is the engine's.
func (e *Endpoint) probed(now time.Time, number uint64) (repeat bool) {
	p := e.probes
	for i := range p.list {
		one := &p.list[i]
		if one.number == number && (one.state == probeFlying || one.state == probeLost) {
			e.now = now
			p.confirmed(e, now, one)
			return !one.first
		}
	}
	return false
}

func (p *probes) confirmed(e *Endpoint, now time.Time, one *probe) {
	at := e.probeTime()
	if one.state == probeFlying {
		p.loss -= p.loss / lossSpan
		p.settle(e, now, one, true)
	}
	one.state, one.rested = probeBack, at
	took := at - one.at
	if one.first && took >= leastResendAfter {
		one.rested = at + probeLife // it was resent, and may be confirmed again: how long it took is not known
		p.late = p.late || p.least > 0 && p.isLate(took)
	} else {
		p.learn(e, one, at)
		p.heldConfirmed(e, now, one)
	}
	if !one.first { // of a new package the engine tells the path
		p.repeats, p.ignored = true, 0
		// What goes out behind it waits longer than it.
		e.sender.BesideAcked(now, took+max(took-p.usual, 0)/4, 0)
	}
	for i := range p.list {
		if other := &p.list[i]; other.state == probeFlying && one.at-other.at > probeOrder {
			p.lose(e, now, other)
		}
	}
}

// learn takes a round trip. Peers gather confirmations, but some go along with a package at once: those are the least. What is usual tells
// what is late. It is learnt while nothing waits on the way. The least grows slowly, in case that the path has become longer, and
// what is usual with it.
func (p *probes) learn(e *Endpoint, one *probe, at time.Duration) {
	took := at - one.at
	if p.least == 0 {
		p.least, p.usual = took, took
	}
	p.least = min(p.least, took)
	p.least += (took - p.least) / leastDrift
	if p.calm {
		p.usual += (took - p.usual) / 16
	}
	p.usual = min(max(p.usual, p.least), p.least+gatherTime)
	p.delayed, p.late = p.isDelayed(took), p.isLate(took)
	if p.held == 0 && !e.sender.Narrow() {
		p.spread += (min(max(took-p.usual, p.usual-took), overdueWait) - p.spread) / 16
	}
	if !p.delayed {
		p.prompt = max(p.prompt, one.at)
	}
	p.raise(one, at)
	e.sender.Floor(p.usual - (p.usual-p.least)/2)
}

// isDelayed and isLate report whether a round trip is longer than usual, by more than round trips differ by.
func (p *probes) isDelayed(took time.Duration) bool { return took > p.usual+calmWait+p.spread }
func (p *probes) isLate(took time.Duration) bool    { return took > p.usual+overdueWait+2*p.spread }

// expire finds probes that are lost, and reports whether one is late.
func (p *probes) expire(e *Endpoint, now time.Time) (late bool) {
	p.overdue = 0
	for i := range p.list {
		one := &p.list[i]
		if one.state != probeFlying {
			continue
		}
		switch age := e.probeTime() - one.at; {
		case age >= probeLife:
			p.lose(e, now, one)
		case p.least == 0 || !one.first && !p.repeats:
		default:
			late = late || p.isDelayed(age)
			if p.isLate(age) && one.at > p.prompt {
				p.overdue++
			}
		}
	}
	return late
}

// lose takes a probe for lost. If the peer has yet to confirm a repeat, it says nothing that it did not confirm one.
func (p *probes) lose(e *Endpoint, now time.Time, one *probe) {
	one.state = probeLost
	if !one.first && !p.repeats {
		p.ignored = min(p.ignored, shyProbes-1) + 1
		p.bytes += one.bytes
		return
	}
	p.loss += (1<<16 - p.loss) / lossSpan
	p.settle(e, now, one, false)
}

// settle says what became of the bytes before a probe that came or not. As many of them count as lost as of all probes of late: one probe is a
// twentieth of a second, or a fourth, and where it is lost by bad luck that second would look bad. When something begins to wait it is no bad luck.
// They are told of when a probe is lost: beside a download each loss halves the rate, and a little of each would halve it all the time.
func (p *probes) settle(e *Endpoint, now time.Time, one *probe, came bool) {
	lost := int32(0)
	switch {
	case !p.delayed || e.sender.Narrow():
		lost = int32(int64(one.bytes) * int64(p.loss) >> 16)
	case !came:
		lost = one.bytes
	}
	p.lost += lost
	if !came {
		e.sender.BesideLost(now, int(p.lost))
		p.lost = 0
	}
	e.sender.BesideAcked(now, 0, int(one.bytes-lost))
}
