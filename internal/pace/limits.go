package pace

import "time"

const (
	// epoch is half of the time for which a least round trip is believed: a path that has become longer is known as
	// that after a minute.
	epoch = 30 * time.Second

	// longEpoch is how much longer while somebody else fills the queue, as nothing passes it by then.
	longEpoch = 3 * time.Minute

	// beforeLong is how long before a path became narrow it was another path.
	beforeLong = 3 * time.Second

	// leastRate, in bytes a second, is what a player gets on any path: its own entity in each of 20 ticks, and what it says. A peer that
	// confirms nothing, late or wrongly makes its own path look as narrow as this, and nobody else's.
	leastRate = 4000

	// narrowRate, in bytes a second, is the narrowest path on which all of a game is to be seen: 100 kbit/s.
	narrowRate = 12500

	// leastBytes is the least budget that is not 0: less is saved for the next tick, as half of such a packet would be
	// headers.
	leastBytes = 160

	// mostElapsed bounds what a tick that comes late gets.
	mostElapsed = 250 * time.Millisecond

	// The path is judged by its newest judgedTicks, and its queue by as few of them as have fewSamples: a single packet may be late
	// for many reasons, the earliest of several only if there is a queue. pastTicks are kept, a power of two.
	judgedTicks = 6
	fewSamples  = 4
	pastTicks   = 8

	// A wide path becomes narrow when for suspectTicks in a row packets wait for suspectWait longer than before, and four times as
	// much as the path jitters: who sends more than a path takes makes a queue that grows. Before it is known how much it
	// jitters, firstJitter is assumed.
	suspectWait  = 15 * time.Millisecond
	suspectTicks = 2
	firstJitter  = 20 * time.Millisecond

	// leastTarget and mostTarget bound the queue that is wanted: see target.
	leastTarget = 6 * time.Millisecond
	mostTarget  = 60 * time.Millisecond

	// leastGrowth and mostGrowth are by how much the rate grows in a tick, in 256ths. It doubles with each tick that
	// finds no queue of fewWait: ten times the rate is found within two seconds. What relay's probes wait for by themselves is less.
	leastGrowth = 3
	mostGrowth  = 16
	fewWait     = 12 * time.Millisecond

	// mostNoise is how much of a queue that is not ours is borne. It may be the packets of others of us, which come in the same ticks.
	// More than that is of somebody who fills the queue and would take everything.
	mostNoise = 60 * time.Millisecond

	// mostLate bounds what is paid back at once.
	mostLate = 500 * time.Millisecond

	// drainEvery is how often a path with somebody else's queue, or with a loss above lossy, in thousandths, is let run empty. What is
	// sent in the last trialEnd of that pause shows what is left of the queue: two ticks, or some more.
	drainEvery = 3 * time.Second
	lossy      = 20
	trialEnd   = 120 * time.Millisecond

	// cutDrain is for how long little is sent when much is lost without a queue: who came to a full queue has never seen
	// the path without it.
	cutDrain = 300 * time.Millisecond

	// carefulFor is how long after cutDrain the rate grows by the 256th part only: nothing but loss will say that it is too much.
	carefulFor = 10 * time.Second

	// lookDrain is for how long little is sent on any narrow path at each third drainEvery, to see the round trip without a queue.
	lookDrain = 100 * time.Millisecond

	// The share of what is lost is judged once a second, if lossBytes have come to their end since, or after lossSpan. What is severe is
	// judged at once.
	lossBytes = 96 << 10
	lossSpan  = 4 * time.Second

	// firstOwn is the loss, in thousandths, that a path is presumed to have of itself, and mostOwn what is believed of one at most. A lost
	// acknowledgement looks like a lost packet: with strangeLoss, a tenth may be lost each way by bad luck.
	firstOwn = 150
	mostOwn  = 250

	// doubtful is the loss, in thousandths, above which a wide path is let run empty once in an epoch: the queue may have been full when
	// we came. Where it is bad luck that costs 300 ms of the far world in 30 s.
	doubtful = 50

	// lossPatience is how many seconds in a row we give way to a loss before it counts as the path's own.
	lossPatience = 2

	// spareTicks is how many ticks in a row must leave a third of the rate unused until the path counts as wide again.
	spareTicks = 40

	// packet is the step by which a window grows beside others: their packets are about as large.
	packet = 1448

	// strangeLoss is how much more than the path's own loss, in thousandths, shows that our rate is the cause.
	strangeLoss = 80
)
