package pace

import "time"

const (
	// epoch is half of the time for which a least round trip is believed: a path that has become longer is known as
	// that after a minute.
	epoch = 30 * time.Second

	// leastRate, in bytes a second, is what a player gets on any path: its own entity in each of 20 ticks. A peer that
	// confirms nothing, late or wrongly makes its own path look as narrow as this, and nobody else's.
	leastRate = 2000

	// leastBytes is the least budget that is not 0: less is saved for the next tick, as half of such a packet would be
	// headers.
	leastBytes = 160

	// mostElapsed bounds what a tick that comes late gets.
	mostElapsed = 250 * time.Millisecond

	// The path is judged by its newest pastTicks, and its queue by as few of them as have fewSamples: a single packet may be late
	// for many reasons, the earliest of several only if there is a queue.
	pastTicks  = 4
	fewSamples = 4

	// A wide path becomes narrow when for suspectTicks in a row more than suspectWait is waited, or once more than surelyWait:
	// what jitters is not a queue.
	suspectWait  = 25 * time.Millisecond
	surelyWait   = 80 * time.Millisecond
	suspectTicks = 6

	// leastTarget and mostTarget bound the queue that is wanted: see target.
	leastTarget = 6 * time.Millisecond
	mostTarget  = 40 * time.Millisecond

	// leastGrowth and mostGrowth are by how much the rate grows in a tick, in 256ths. It doubles with each tick that
	// finds no queue: ten times the rate is found within two seconds.
	leastGrowth = 3
	mostGrowth  = 16

	// patience is how often in a row a queue is paid back before it is taken for someone else's, and mostNoise how long it may be
	// to be only borne.
	patience  = 4
	mostNoise = 60 * time.Millisecond

	// mostLate bounds what is paid back at once.
	mostLate = 500 * time.Millisecond

	// drainEvery is how often a path with somebody else's queue, or with a loss above lossy, in thousandths, is let run empty.
	drainEvery = 3 * time.Second
	lossy      = 30

	// cutDrain is for how long little is sent when much is lost without a queue: who came to a full queue has never seen
	// the path without it.
	cutDrain = 300 * time.Millisecond
	cutShare = 192

	// The share of what is lost is judged once a second, if lossBytes have come to their end since, or after lossSpan.
	lossBytes = 48 << 10
	lossSpan  = 4 * time.Second

	// lossPatience is how many seconds in a row we give way to a loss before it counts as the path's own.
	lossPatience = 4

	// spareTicks is how many ticks in a row must leave a third of the rate unused until the path counts as wide again.
	spareTicks = 40

	// packet is the step by which a window grows beside others: their packets are about as large.
	packet = 1448

	// strangeLoss is how much more than the path's own loss, in thousandths, shows that our rate is the cause.
	strangeLoss = 80
)
