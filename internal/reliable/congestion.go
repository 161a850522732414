package reliable

import "time"

// congestion decides how many bytes may be on the wire. It works in rounds. A round ends
// when a packet that was sent after its start is acknowledged. Each round is judged by
// its queue: how far its least round trip exceeds the path's.
//
//	starting   doubles each round until a queue builds up or much is lost
//	alone      keeps a short queue: grows while it is shorter than wanted,
//	           shrinks in proportion while it is longer; loss without a queue
//	           is the path's own and changes nothing
//	competing  a queue that stays although we shrank is someone else's: then
//	           grows by a packet a round and halves on loss, as TCP does beside us
//	draining   now and then sends little for two rounds, to see how short the
//	           round trip is without us, and whether someone else fills the queue
//
// The zero value starts with no window; NewSender gives it one.
type congestion struct {
	window     int // bytes
	mode       congestionMode
	limited    bool   // at least half of the window was used in this round
	wasLimited bool   // the same in the round before
	halved     bool   // after a block: stop doubling at half of the former window
	cut        bool   // doubling ended because of loss, before a queue had shown what the path carries
	lossWait   uint8  // rounds until it is clear whether shrinking for loss helped
	careful    bool   // it did help: the queue is shallow, grow slowly
	over       uint8  // rounds in a row with too long a queue
	rounds     uint32 // in this mode

	roundSamples int32

	// The least round trip of this epoch and the one before.
	least, leastBefore time.Duration
	epochEnd           time.Duration
	seenLeast          time.Duration // when the queue was last seen empty
	maxQueue           time.Duration // the longest recent queue: how long a full one is

	roundTx    uint64 // the round ends with an acknowledgement of this or later
	roundStart time.Duration
	roundLeast time.Duration
	roundAcked int32
	roundLost  int32

	queueDelay  time.Duration // of the last round
	rate        int64         // bytes a second delivered in the best recent round
	rateBefore  int64
	lossShare   int   // of recent rounds, in thousandths
	lossBefore  int   // the same when we last shrank for it
	trialLost   int32 // bytes in the rounds of lossWait
	trialAcked  int32
	tolerance   int    // the loss that is taken for the path's own, in thousandths
	before      int    // the window before we shrank, or drained
	recoveredTx uint64 // losses of earlier transmissions were answered
	ceiling     int    // where doubling stops after a block
}

type congestionMode uint8

const (
	starting congestionMode = iota
	alone
	competing
	draining
)

const (
	// wantedQueue is the queueing delay that we keep: long enough that the link never
	// idles, short enough that a game does not feel the bulk data beside it.
	wantedQueue = 10 * time.Millisecond

	// leastEpoch is the length of an epoch. A least round trip is believed for two
	// epochs.
	leastEpoch = 10 * time.Second

	// patienceRounds is how many rounds in a row a queue may stay too long before it is
	// taken for someone else's. A smaller window shows its effect after two.
	patienceRounds = 5

	// leastTolerance is the loss, in thousandths, that is taken for the path's own as
	// long as no queue shows: 5% each way, as a packet whose acknowledgement is lost counts as lost. When shrinking does not help, it may grow to mostTolerance.
	leastTolerance = 100
	mostTolerance  = 400

	// lossRounds is how many rounds a smaller window is given to show that the
	// loss was ours.
	lossRounds = 6

	drainRounds = 2
)

// wanted is the queueing delay that we keep on this path: on a narrow link a few packets
// take longer than wantedQueue, and less would leave it idle.
func (c *congestion) wanted() time.Duration {
	rate := c.bestRate()
	if rate == 0 {
		return wantedQueue
	}
	return max(wantedQueue, time.Duration(3*mss*int64(time.Second)/rate))
}

func (c *congestion) starting() bool { return c.mode == starting }

// begin notes that the flow uses at least half of its window. The first such packet
// starts a round. Before it, nothing is learnt about the path but its least round trip.
func (c *congestion) begin(at time.Duration, nextTx uint64) {
	if !c.busy() {
		c.newRound(at, nextTx)
	}
	c.limited = true
}

func (c *congestion) newRound(at time.Duration, nextTx uint64) {
	c.roundTx, c.roundStart = nextTx, at
	c.roundLeast, c.roundSamples, c.roundAcked, c.roundLost = 0, 0, 0, 0
}

// acked takes an acknowledgement of n bytes; rtt is 0 if it gave no sample.
func (c *congestion) acked(at time.Duration, n int, rtt time.Duration, tx, nextTx uint64) {
	if rtt > 0 {
		c.sample(at, rtt)
	}
	if !c.busy() {
		return
	}
	c.roundAcked += int32(n)
	if c.mode == starting {
		if c.limited {
			c.window += n
		}
		// Several samples in a row that show a queue end the doubling within a round.
		if c.roundSamples >= 8 && c.roundLeast-c.leastRTT() > c.wanted() {
			c.settle()
		}
		if c.halved && c.window >= c.ceiling {
			c.enter(alone)
		}
	}
	if tx >= c.roundTx {
		c.endRound(at)
		c.newRound(at, nextTx)
		c.wasLimited, c.limited = c.limited, false
	}
}

// busy reports whether the flow uses its window, and so may have made the queue
// that it waits in.
func (c *congestion) busy() bool { return c.limited || c.wasLimited }

func (c *congestion) sample(at, rtt time.Duration) {
	if at >= c.epochEnd {
		c.leastBefore, c.least = c.least, rtt
		c.rateBefore, c.rate = c.rate, 0
		c.epochEnd = at + leastEpoch
		c.maxQueue /= 2
		c.tolerance = c.tolerance * 3 / 4
		c.careful = false
	}
	c.least = min(c.least, rtt)
	if c.roundSamples == 0 || rtt < c.roundLeast {
		c.roundLeast = rtt
	}
	c.roundSamples++
	if rtt-c.leastRTT() < wantedQueue/4 {
		c.seenLeast = at
	}
}

func (c *congestion) leastRTT() time.Duration {
	if c.leastBefore == 0 {
		return c.least
	}
	return min(c.least, c.leastBefore)
}

func (c *congestion) bestRate() int64 { return max(c.rate, c.rateBefore) }

// endRound judges the round that ends now.
func (c *congestion) endRound(at time.Duration) {
	if c.roundSamples == 0 || at <= c.roundStart {
		return
	}
	c.rounds++
	c.queueDelay = c.roundLeast - c.leastRTT()
	c.maxQueue = max(c.maxQueue, c.queueDelay)
	c.noteLoss()
	c.rate = max(c.rate, int64(c.roundAcked)*int64(time.Second)/int64(at-c.roundStart))
	switch c.mode {
	case starting:
		if c.tooMuchLost() || c.queueDelay > c.wanted() {
			c.cut = c.queueDelay <= c.wanted()
			c.settle()
		}
	case alone:
		c.endAlone(at)
	case competing:
		c.endCompeting(at)
	case draining:
		c.endDraining()
	}
}

// noteLoss smooths the loss of the round. A shallow queue overflows before it
// shows as delay: then less is lost once we send less. Where as much is lost as
// before, the loss is the path's own and is tolerated from then on.
func (c *congestion) noteLoss() {
	c.lossShare += (share(c.roundLost, c.roundAcked) - c.lossShare) / 4
	if c.lossWait == 0 {
		return
	}
	// The first two rounds still show the larger window.
	if c.lossWait--; c.lossWait < lossRounds-2 {
		c.trialLost += c.roundLost
		c.trialAcked += c.roundAcked
	}
	if c.lossWait > 0 {
		return
	}
	after := share(c.trialLost, c.trialAcked)
	c.lossShare = after
	if c.careful = after <= c.lossBefore/2; c.careful {
		return
	}
	// The path's own: then nothing is gained by the smaller window, and a start that it has cut short goes on.
	c.tolerance = min(max(after, c.lossBefore)*3/2, mostTolerance)
	if c.mode != alone || c.over > 0 {
		return // something else has made it smaller since then
	}
	c.setWindow(max(c.window, c.before))
	if c.cut {
		c.cut = false
		c.enter(starting)
	}
}

// share returns the lost part in thousandths.
func share(lost, acked int32) int { return int(lost) * 1000 / (int(lost) + int(acked) + 1) }

// trial sends a little less than the path has been seen to deliver, to learn
// whether the loss is our doing.
func (c *congestion) trial() {
	c.lossBefore, c.lossWait = c.lossShare, lossRounds
	c.trialLost, c.trialAcked, c.before = 0, 0, c.window
	bdp := int(c.bestRate() * int64(c.leastRTT()) / int64(time.Second))
	c.setWindow(min(c.window*3/4, bdp*9/10))
}

func (c *congestion) tooMuchLost() bool {
	return c.lossWait == 0 && c.lossShare > max(c.tolerance, leastTolerance)
}

func (c *congestion) endAlone(at time.Duration) {
	if c.queueDelay > c.wanted() {
		c.shrink()
		return
	}
	c.over = 0
	switch {
	case c.tooMuchLost():
		c.trial()
	case c.lossWait > 0:
		// See first what the smaller window does.
	case c.limited && c.queueDelay < c.wanted()/2 && !c.careful:
		c.setWindow(c.window + max(mss, c.window/16))
	case c.limited:
		c.setWindow(c.window + mss)
	}
	if at-c.seenLeast > leastEpoch && c.limited {
		c.drain()
	}
}

// shrink answers a queue that is too long. The new window makes it three quarters of the
// wanted one, if the queue is ours. A change shows two rounds later, so the window
// changes only every second round.
func (c *congestion) shrink() {
	if c.over == 0 {
		c.before = c.window
	}
	c.over++
	if c.over >= patienceRounds {
		c.setWindow(c.before)
		c.enter(competing)
		return
	}
	if c.over%2 == 1 {
		base := c.leastRTT()
		want := base + c.wanted()*3/4
		c.setWindow(max(c.window/2, int(int64(c.window)*int64(want)/int64(base+c.queueDelay))))
	}
}

func (c *congestion) endCompeting(at time.Duration) {
	if c.queueDelay < c.wanted()/2 {
		c.enter(alone)
		return
	}
	if c.limited {
		c.setWindow(c.window + mss)
	}
	if at-c.seenLeast > leastEpoch {
		c.drain()
	}
}

// drain begins to send less than the path carries, so that the queue, if it is ours, runs
// empty.
func (c *congestion) drain() {
	c.before = c.window
	bdp := int(c.bestRate() * int64(c.leastRTT()) / int64(time.Second))
	c.setWindow(min(c.window/2, bdp/2))
	c.enter(draining)
}

func (c *congestion) endDraining() {
	if c.rounds < drainRounds {
		return
	}
	c.setWindow(c.before)
	c.seenLeast = c.roundStart
	if c.queueDelay > c.wanted() {
		c.enter(competing)
		return
	}
	c.settle()
}

// settle goes on in mode alone, with the window that the measured rate fills.
func (c *congestion) settle() {
	fit := int(c.bestRate() * int64(c.leastRTT()+c.wanted()) / int64(time.Second))
	if fit > 0 {
		c.setWindow(min(c.window, fit))
	}
	c.enter(alone)
}

// lostPacket takes the loss of n bytes that were transmission tx.
func (c *congestion) lostPacket(at time.Duration, n int, tx, nextTx uint64) {
	c.roundLost += int32(n)
	if c.mode != competing || tx < c.recoveredTx {
		return
	}
	// The queue is full when packets drop off its end; a loss with a short
	// queue is the path's own.
	if c.queueDelay < c.maxQueue/2 {
		return
	}
	c.recoveredTx = nextTx
	c.setWindow(c.window / 2)
}

// blocked answers a path on which nothing comes back at all.
func (c *congestion) blocked() {
	if c.window <= minWindowBytes {
		return
	}
	c.ceiling = c.window / 2
	c.halved = true
	c.window = minWindowBytes
	c.enter(starting)
}

func (c *congestion) setWindow(n int) { c.window = max(n, minWindowBytes) }

func (c *congestion) enter(m congestionMode) {
	if m != starting {
		c.halved = false
	}
	c.mode, c.rounds, c.over = m, 0, 0
}
