// Package pace says how many bytes a tick may put on the path to one player.
//
// A Path is told what a connection sends and what of it is confirmed, and how long that took. It is the same for all
// dialects: some know of each datagram, some of a probe now and then, some of what the kernel says of a TCP stream.
//
// While nothing waits on the way, ticks are Unlimited, and a Path costs a few comparisons for each confirmation. When
// packets begin to wait, the path is narrow, and each tick gets its share of the rate:
//
//	wide       no limit; left when a queue stays, or when loss shows that somebody cuts off what is above a rate
//	alone      the queue is ours: the rate is what arrives, a little more while the queue is short, a little less while it is
//	           long; what waits too long is paid back by ticks that send only what a player cannot do without
//	competing  a queue that stays although we paid it back is someone else's: grow by a packet a round trip and give
//	           a third away when something is lost, as TCP does beside us
//
// Two who share a link see the same queue. The one with the higher rate wants a shorter one, and so gives way: they meet.
package pace

import (
	"math"
	"time"
)

// Unlimited is the budget of a path that is not known to be narrow.
const Unlimited = math.MaxInt32

// Path is the estimate of one connection's path. The zero value is ready. Times are those of one clock for all paths of a
// server, which does not go back and is above 0.
type Path struct {
	mode   mode
	over   uint8 // ticks in a row with too long a queue, while wide
	vain   uint8 // times in a row that it did not help to pay a queue back
	unused uint8 // ticks in a row that had no use for their rate
	budget int32 // of the last tick, if narrow

	rate   int64 // bytes a second that ticks may use; 0 if wide
	credit int64 // bytes of it that are left
	known  int64 // bytes a second: what arrived when there was last too much
	grow   int64 // of the next growth, in 256ths
	window int64 // bytes, while competing

	// The most bytes a second that arrived while the path was narrow, in this epoch and the one before. It may be our share only.
	fastest, fastestBefore int64

	least, leastBefore base // the round trip without a queue, of this epoch and the one before
	epochEnd           time.Duration
	smoothed           time.Duration // round trip

	queue   time.Duration    // how long packets wait now, of our doing
	noise   time.Duration    // how long they wait of others' doing
	full    time.Duration    // the longest wait of late: how long a full queue is
	paid    time.Duration    // the queue for which we last gave way, until it is seen whether that helped
	deaf    time.Duration    // until then the queue is that of before
	grown   time.Duration    // when the rate last grew
	careful time.Duration    // until then more is lost if more is sent
	halved  time.Duration    // when the window last shrank
	heeded  bool             // there has been a wait
	waited  [2]time.Duration // in the last ticks
	jitter  time.Duration    // how much that differs from tick to tick
	trial   bool             // all of us let the queue run empty, or have just done so
	resumed time.Duration    // when that ends
	left    time.Duration    // what still waits at its end, or -1 if that is not known
	before  int64            // bytes a second that arrived before it
	drained time.Duration    // which drainEvery it is
	came    time.Duration    // how long round trips took before the trial of a wide path
	tried   bool             // there was one in this epoch

	began time.Duration // of the tick under way
	usual time.Duration // how long ticks take that are not late
	late  bool          // the last one was
	now   span
	past  [pastTicks]span // a ring
	at    uint8           // where the newest is
	loss  lossMeter

	arrived, lost uint32 // bytes so far whose fate is known; they wrap around
}

// base is the least round trip, and the size of the packet that showed it: on a narrow path a large one takes longer though nothing
// waits.
type base struct {
	rtt  time.Duration
	size int
	at   time.Duration
}

type mode uint8

const (
	wide mode = iota
	alone
	competing
)

// span is what was seen in a tick.
type span struct {
	took              time.Duration
	sent, acked, lost int32
	samples           int32
	wait              time.Duration // the least of the samples: the queue that stays between two ticks
}

// Estimate is what is known of a path.
type Estimate struct {
	Rate   int64         // bytes a second that it takes, 0 if nothing has shown it to be narrow
	Queue  time.Duration // how much of the round trip is waiting
	Budget int           // bytes of the last tick, Unlimited if it is not narrow
	RTT    time.Duration // the round trip, smoothed; 0 before one was measured

	Arrived, Lost uint32 // bytes so far that are known to have arrived, and that are taken for lost; they wrap around
}

// Estimate returns what is known.
func (p *Path) Estimate() Estimate {
	e := Estimate{Rate: p.rate, Queue: p.queue + p.noise, Budget: Unlimited, RTT: p.smoothed, Arrived: p.arrived, Lost: p.lost}
	if p.mode != wide {
		e.Budget = int(p.budget)
	}
	return e
}

// Narrow reports whether the path has been seen to hold back what we send: then nothing is sent twice ahead of loss.
func (p *Path) Narrow() bool { return p.mode != wide }

// Competing reports whether somebody else fills the queue, so that nothing but loss says that we send too much.
func (p *Path) Competing() bool { return p.mode == competing }

// Sent says that n bytes went out: values, messages, resends and copies alike.
func (p *Path) Sent(n int) {
	p.now.sent += int32(n)
	p.credit -= int64(n) // which is of no meaning while the path is wide
}

// Acked says that n bytes are known to have arrived, in a packet that took rtt there and back, or 0 if that is not known. What was
// timed may be a packet of its own, of which no bytes count: then n is 0.
func (p *Path) Acked(at, rtt time.Duration, n int) {
	p.now.acked += int32(n)
	p.arrived += uint32(n)
	p.Timed(at, rtt, n)
}

// Timed says that a datagram of n bytes took rtt there and back, if that is above 0. That they arrived is not counted.
func (p *Path) Timed(at, rtt time.Duration, n int) {
	if rtt <= 0 {
		return
	}
	if at >= p.epochEnd && (p.mode != competing || at >= p.epochEnd+longEpoch) {
		p.newEpoch(at, rtt, n)
	}
	p.smoothed += (rtt - p.smoothed) / 8
	if rtt < p.least.rtt {
		p.least = base{rtt, n, at}
	}
	least := &p.least
	if b := &p.leastBefore; b.rtt > 0 && b.rtt < least.rtt {
		least = b
	}
	wait := rtt - least.rtt - p.takes(n-least.size)
	if s := &p.now; s.samples == 0 || wait < s.wait {
		s.wait = wait
	}
	if sent := at - rtt; p.trial && sent > p.resumed-trialEnd && sent <= p.resumed && (p.left < 0 || wait < p.left) {
		p.left = max(wait, 0)
	}
	p.now.samples++
}

// Lost says that n bytes are taken for lost.
func (p *Path) Lost(at time.Duration, n int) {
	p.now.lost += int32(n)
	p.lost += uint32(n)
	if p.mode == competing && p.queue > p.full/2 && at-p.halved > p.smoothed {
		p.halved = at
		p.setWindow(p.window * 2 / 3)
	}
}

// Budget returns how many bytes the tick that begins now may send, of all kinds. Call it once a tick. If it is 0, what a
// player cannot do without goes out all the same, and is paid back by later ticks.
func (p *Path) Budget(at time.Duration) int {
	elapsed := at - p.began
	if p.began == 0 {
		elapsed = 0
	}
	p.began = at
	p.forgive(elapsed)
	if p.mode == wide && p.isQuiet() && !p.trial {
		p.loss.acked += int64(p.now.acked)
		p.turn(elapsed)
		return Unlimited
	}
	p.turn(elapsed)
	if at >= p.deaf {
		p.judge(at)
	}
	p.drainNow(at)
	if p.mode == wide {
		if at < p.resumed {
			return 0
		}
		return Unlimited
	}
	share := p.rate * int64(min(elapsed, mostElapsed)) / int64(time.Second)
	if sent := int64(p.newest().sent); sent > 4*share+packet {
		// A burst of our own waits now, of which we know: it is paid back as it was sent.
		p.deaf = max(p.deaf, at+p.smoothed+min(p.takes(int(sent)), mostLate))
	}
	p.credit = min(max(p.credit, -p.rate)+share, 2*share)
	p.budget = 0
	if p.credit >= leastBytes {
		p.budget = int32(min(p.credit, math.MaxInt32-1))
	}
	return int(p.budget)
}

// forgive leaves out what was timed while we stood still: a tick that comes late, and the one behind it, find confirmations that
// have waited for us and not on the path.
func (p *Path) forgive(elapsed time.Duration) {
	was := p.late
	p.late = p.usual > 0 && elapsed > p.usual+p.usual/2
	if p.late || was {
		p.now.samples = 0
	}
	switch {
	case p.usual == 0:
		p.usual = elapsed
	case p.late:
		p.usual += (elapsed - p.usual) / 16 // or it is how long ticks take now
	default:
		p.usual += (elapsed - p.usual) / 4
	}
}

// isQuiet reports whether there is nothing to judge, which is so on most paths at most times.
func (p *Path) isQuiet() bool {
	return p.now.samples > 0 && p.now.wait <= suspectWait && p.now.lost == 0 && p.over == 0 && p.heeded
}

// turn ends a tick.
func (p *Path) turn(took time.Duration) {
	p.now.took = took
	p.at = (p.at + 1) % pastTicks
	p.past[p.at], p.now = p.now, span{}
}

func (p *Path) newest() *span { return &p.past[p.at] }

func (p *Path) newEpoch(at, rtt time.Duration, n int) {
	if p.smoothed == 0 {
		p.smoothed = rtt
	}
	p.leastBefore, p.least = p.least, base{rtt, n, at}
	p.epochEnd = at + epoch
	p.full /= 2
	p.tried = false
	p.fastestBefore, p.fastest = p.fastest, 0
}

// takes returns how long n bytes take on a narrow path, 0 if there are none.
func (p *Path) takes(n int) time.Duration {
	if p.mode == wide || n <= 0 {
		return 0
	}
	return time.Duration(int64(n) * int64(time.Second) / max(p.rate, p.known, p.fastest, p.fastestBefore))
}
