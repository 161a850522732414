package pace

import (
	"math"
	"time"
)

// target is the queue that is wanted at this rate: 22 ms at 100 kbit/s, less above, so that who has more gives way to
// who has less. It must not be much longer than a tick's packets take, nor so short that noise hides it.
func (p *Path) target() time.Duration {
	x := math.Sqrt(narrowRate / float64(p.rate))
	t := time.Duration(22e6 * x * math.Sqrt(x))
	return min(max(t, leastTarget), mostTarget)
}

// seen is what the newest ticks say together.
type seen struct {
	span          // of all of them; wait is of as few ticks as have fewSamples
	known   bool  // whether there is a wait
	arrived int64 // bytes a second
}

func (p *Path) look() (s seen) {
	for i := range uint8(judgedTicks) {
		t := &p.past[(p.at-i)%pastTicks]
		if t.samples > 0 && s.samples < fewSamples {
			if !s.known || t.wait < s.wait {
				s.wait, s.known = t.wait, true
			}
			s.samples += t.samples
		}
		s.took += t.took
		s.sent, s.acked, s.lost = s.sent+t.sent, s.acked+t.acked, s.lost+t.lost
	}
	switch {
	case s.took == 0 || s.acked == 0 && s.lost == 0: // no news
		s.arrived = max(p.rate, leastRate)
	default:
		s.arrived = max(int64(s.acked)*int64(time.Second)/int64(s.took), leastRate)
	}
	return s
}

// judge decides what the rate is from now on.
func (p *Path) judge(at time.Duration) {
	s := p.look()
	if s.known {
		p.heed(s.wait)
	}
	if p.mode != wide {
		p.fastest = max(p.fastest, s.arrived)
	}
	cut := p.loss.add(p.newest(), at)
	switch p.mode {
	case wide:
		p.judgeWide(at, &s, cut)
	case alone:
		p.judgeAlone(at, &s, cut)
	case competing:
		p.judgeCompeting(at, &s)
	}
}

// heed takes how long packets wait now. How much that differs from tick to tick is how much the path jitters. A queue
// grows and shrinks evenly.
func (p *Path) heed(wait time.Duration) {
	if t := p.newest(); t.samples > 0 {
		if !p.heeded {
			p.heeded, p.jitter, p.waited = true, firstJitter, [2]time.Duration{t.wait, t.wait}
		}
		p.jitter += (abs(t.wait-2*p.waited[0]+p.waited[1])/2 - p.jitter) / 16
		p.waited = [2]time.Duration{t.wait, p.waited[0]}
	}
	wait = max(wait, 0)
	p.full = max(p.full, wait)
	if p.mode == wide {
		p.queue = max(wait-p.noise, 0)
		p.noise += (wait - p.noise) / 32 // what waits and does not grow is not ours
		return
	}
	p.noise -= max(p.noise-wait, 0) / 8
	p.queue = max(wait-p.noise, 0)
	if p.paid == 0 {
		return
	}
	if p.queue <= p.paid*2/3 {
		p.vain = 0
	} else if p.vain++; p.vain >= 2 {
		bear := min(p.queue/2, max(mostNoise-p.noise, 0))
		p.noise, p.queue = p.noise+bear, p.queue-bear // to pay it back did not help, again: it is not ours
	}
	p.paid = 0
}

func abs(d time.Duration) time.Duration { return max(d, -d) }

// drainNow lets the queue run empty now and then, if it seems to be somebody else's or something is lost. Who came to a full queue
// has never seen the path without it, and many of us on one link may each take the queue for the others'. All paths of a
// server do so at the same time, so what is left is not theirs.
func (p *Path) drainNow(at time.Duration) {
	was := p.drained
	if p.drained = at / drainEvery; p.drained == was || was == 0 {
		return
	}
	switch {
	case p.mode == wide && p.isSuspect(at):
		p.tried, p.came = true, p.least.rtt+p.noise+p.queue
		p.pause(at, cutDrain)
	case p.mode == competing, p.mode == alone && (p.noise+p.queue > mostNoise || p.loss.share > p.loss.own+lossy):
		late := max(p.queue, cutDrain)
		p.pause(at, late)
		p.paid = 0
		p.payBack(at, late)
	case p.mode == alone && p.drained%3 == 0:
		p.paid = 0
		p.payBack(at, p.queue+lookDrain)
	}
}

// isSuspect reports whether a wide path may have come to a full queue, and has never seen the link without it. Then something is lost, or
// packets have waited for long since the queue was shorter for a moment. Who is late for the pause of the others waits for the next one.
func (p *Path) isSuspect(at time.Duration) bool {
	if at%drainEvery > trialEnd {
		return false
	}
	long, lossy := p.noise+p.queue > mostNoise+2*p.jitter, p.loss.isDoubtful()
	return long && (lossy || p.drained%3 == 0) || lossy && !p.tried
}

// pause begins a trial. What is sent at its end shows what is left of the queue: see Acked.
func (p *Path) pause(at, late time.Duration) {
	p.trial, p.resumed, p.left, p.before = true, at+late, -1, p.look().arrived
}

// narrows begins to limit what is sent. The round trip that is known from long before is of a faster path, on which the size of a
// packet did not matter.
func (p *Path) narrows(at time.Duration) {
	p.enter(alone)
	for _, b := range []*base{&p.least, &p.leastBefore} {
		if at-b.at > beforeLong {
			b.size = 0
		}
	}
}

func (p *Path) judgeWide(at time.Duration, s *seen, cut bool) {
	if p.queue > suspectWait+4*p.jitter {
		p.over++
	} else {
		p.over = 0
	}
	trial := p.trial && at >= p.resumed+p.smoothed
	p.trial = p.trial && !trial
	switch {
	case trial && p.left >= 0 && p.came-p.least.rtt-p.left > mostNoise/2+2*p.jitter:
		p.narrows(at) // what waits goes away when we are silent
		p.giveWay(at, p.before)
	case cut:
		p.narrows(at)
		p.giveWayToLoss(at, s.arrived)
	case p.over >= suspectTicks:
		p.noise = min(p.noise, 2*p.jitter)
		p.narrows(at)
		p.giveWay(at, s.arrived)
	}
}

func (p *Path) judgeAlone(at time.Duration, s *seen, cut bool) {
	used, trial := p.isUsed(s), p.trial
	p.trial = false
	switch want := p.target() + 2*p.jitter; {
	case trial && p.left > mostNoise:
		p.compete(s.arrived)
		return
	case p.queue > want:
		p.giveWay(at, s.arrived)
	case cut:
		p.giveWayToLoss(at, s.arrived)
	case used && s.known && p.queue < want*3/4 && at-p.grown > p.smoothed/2:
		p.growRate(at)
	}
	// Whether a long queue is ours shows the next trial. Until then others may need what we would take.
	p.leaveIfUnused(used || p.noise+p.queue > mostNoise)
}

// giveWay goes back to what arrives, and takes what waits from the ticks to come.
func (p *Path) giveWay(at time.Duration, arrived int64) {
	p.known, p.grow, p.paid = arrived, leastGrowth, p.queue
	late := p.queue
	if p.rate > arrived { // what went out since is not seen yet
		late += time.Duration(float64(p.smoothed) * (float64(p.rate)/float64(arrived) - 1))
	}
	if p.rate == 0 {
		p.rate = arrived
	} else if arrived < p.rate {
		// What arrives comes in lumps, if there is a gap in a stream.
		p.rate = max(arrived*31/32, p.rate/2, leastRate)
	}
	p.payBack(at, late)
}

// giveWayToLoss is for a path that drops what is above its rate and has no queue, or on which we have only ever seen a full one.
func (p *Path) giveWayToLoss(at time.Duration, arrived int64) {
	p.giveWay(at, arrived*3/4)
	p.known, p.careful = arrived, at+carefulFor
	p.payBack(at, cutDrain)
}

// payBack takes what waits too long from the ticks to come. How that helped is seen a round trip after the tick that
// is the first to send as usual.
func (p *Path) payBack(at, late time.Duration) {
	late = min(max(late, 0), mostLate)
	p.credit = min(p.credit, 0) - p.rate*int64(late)/int64(time.Second)
	p.deaf = at + late + p.newest().took + p.smoothed
}

// growRate looks for more: carefully about the rate that was too much the last time, and while something waits, as a hundred of us
// would fill the queue before any of them sees it. Elsewhere ever faster.
func (p *Path) growRate(at time.Duration) {
	p.grown, p.vain = at, 0
	if at < p.careful && p.rate >= p.known {
		p.rate += p.rate / 256
		return
	}
	if p.rate > p.known*3/4 && p.rate < p.known*5/4 || p.queue > fewWait {
		p.grow = leastGrowth
	}
	// Who has less than narrowRate grows faster than who has more, so that they meet.
	p.rate += max(p.rate, (p.rate+narrowRate)/2) * p.grow / 256
	p.grow = min(2*p.grow, mostGrowth)
}

// compete begins to behave as TCP does: what waits still, although all that was ours was paid back, is the queue of somebody
// who fills it and would take everything.
func (p *Path) compete(arrived int64) {
	p.noise = 0
	p.enter(competing)
	p.setWindow(arrived * int64(p.smoothed) / int64(time.Second))
}

// judgeCompeting grows as TCP does. A queue that runs empty when we do is ours: then we go on as before that.
func (p *Path) judgeCompeting(at time.Duration, s *seen) {
	used, trial := p.isUsed(s), p.trial
	p.trial = false
	// At other times too a queue may be short for a moment: one that fills it has just given way.
	if trial && p.left >= 0 && p.left < (p.target()+p.jitter)/2 {
		p.enter(alone)
		p.rate, p.known = p.before, p.before
		return
	}
	if used && s.acked > 0 { // as TCP, which grows with acknowledgements
		p.setWindow(p.window + packet*int64(p.newest().took)/int64(max(p.smoothed, time.Millisecond)))
	}
	p.leaveIfUnused(used)
}

func (p *Path) isUsed(s *seen) bool {
	return int64(s.sent)*3*int64(time.Second) >= 2*p.rate*int64(s.took)
}

// leaveIfUnused ends the limit of a path on which we have no use for more. What still waits there is not our doing, however long: the
// path may be another one now, with a longer round trip.
func (p *Path) leaveIfUnused(used bool) {
	if used {
		p.unused = 0
		return
	}
	if p.unused++; p.unused < spareTicks {
		return
	}
	p.noise += p.queue
	p.enter(wide)
	p.rate = 0
}

func (p *Path) enter(m mode) {
	if p.mode == wide {
		p.credit = 0 // what was sent before was not limited
	}
	p.mode, p.over, p.unused, p.grow, p.trial = m, 0, 0, leastGrowth, false
}

func (p *Path) setWindow(n int64) {
	p.window = max(n, leastRate*int64(p.smoothed)/int64(time.Second))
	p.rate = max(p.window*int64(time.Second)/int64(max(p.smoothed, time.Millisecond)), leastRate)
}
