package picture

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A trial is a server that ticks, a client that draws frames and sends inputs, and the way between them, in virtual time: what the clocks of
// a client have to bear with.
type trial struct {
	rate   int
	trip   time.Duration // without jitter
	jitter time.Duration // each way, evenly spread
	loss   float64
	drift  float64               // of the client's clock
	stalls map[int]time.Duration // the server stops before a tick
	pause  [2]time.Duration      // the client stands still from, until
	shift  time.Duration         // what is added to the trip after half of the run
	inputs float64               // a second: each is sent again with the next ticks
	probes float64               // a second: inputs that are sent once
	again  bool                  // probes are sent again too
	every  bool                  // probes are sent when own ticks begin instead

	shifted float64
	rand    *rand.Rand
	queue   events
	order   int
	clock   Clock
	lead    Lead

	tick   uint64            // that the server runs next
	ran    []float64         // when it ran ticks, in seconds
	newest uint64            // number of an input that came
	held   map[uint64]uint64 // ticks of inputs that came, by number
	did    uint64
	margin int

	heard  []uint64 // ticks, sorted
	number uint64

	frame func(now float64)
	came  func(now float64, margin, copies int)
}

type event struct {
	at    float64
	order int
	do    func(now float64)
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (l *trial) after(now, delay float64, do func(now float64)) {
	l.order++
	heap.Push(&l.queue, event{now + delay, l.order, do})
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// time is what the client's clock says.
func (l *trial) time(now float64) time.Time {
	return began.Add(time.Duration(now * (1 + l.drift) * 1e9))
}

// way is how long a packet takes, or false if it is lost.
func (l *trial) way() (float64, bool) {
	d := (l.trip.Seconds()+l.shifted)/2 + l.rand.Float64()*l.jitter.Seconds()
	return d, l.rand.Float64() >= l.loss
}

// paused is when the client is there again that stands still at a time.
func (l *trial) paused(now float64) float64 {
	if now >= l.pause[0].Seconds() && now < l.pause[1].Seconds() {
		return l.pause[1].Seconds()
	}
	return now
}

func (l *trial) run(seed uint64, seconds float64) {
	l.rand = rand.New(rand.NewPCG(seed, 22))
	l.clock, l.lead = NewClock(l.rate), NewLead(l.rate)
	l.tick, l.held = 1000+seed, map[uint64]uint64{}
	period := 1 / float64(l.rate)
	start := l.tick
	var tick, frame, input, probe func(now float64)
	tick = func(now float64) {
		if stall := l.stalls[int(l.tick-start)]; stall > 0 {
			delete(l.stalls, int(l.tick-start))
			l.after(now, stall.Seconds(), tick)
			return
		}
		t, margin, number := l.tick, l.margin, l.done()
		l.ran = append(l.ran, now)
		l.tick++
		if d, ok := l.way(); ok {
			l.after(now, l.paused(now+d)-now, func(now float64) { l.hear(now, t, number, margin) })
		}
		l.after(now, period, tick)
	}
	frame = func(now float64) {
		if l.paused(now) == now && l.frame != nil {
			l.frame(now)
		}
		l.after(now, 1.0/60, frame)
	}
	input = func(now float64) {
		l.send(now, true)
		l.after(now, l.rand.ExpFloat64()/l.inputs, input)
	}
	probe = func(now float64) {
		l.send(now, l.again)
		if l.every {
			own := l.lead.At(l.time(now))
			l.after(now, (math.Floor(own)+1.001-own)*period, probe)
			return
		}
		l.after(now, l.rand.ExpFloat64()/l.probes, probe)
	}
	l.after(0, 0, tick)
	l.after(0, l.rand.Float64()/60, frame)
	if l.inputs > 0 {
		l.after(0, l.rand.Float64(), input)
	}
	if l.probes > 0 || l.every {
		l.after(0, l.rand.Float64(), probe)
	}
	l.after(0, seconds/2, func(float64) { l.shifted = l.shift.Seconds() })
	for l.queue.Len() > 0 && l.queue[0].at < seconds {
		e := heap.Pop(&l.queue).(event)
		e.do(e.at)
	}
}

func (l *trial) hear(now float64, tick, number uint64, margin int) {
	newer := len(l.heard) == 0 || tick > l.heard[len(l.heard)-1]
	i, _ := slices.BinarySearch(l.heard, tick)
	l.heard = slices.Insert(l.heard, i, tick)
	l.clock.Heard(l.time(now), tick)
	l.lead.Heard(l.time(now), tick)
	if newer && l.newest > 0 {
		l.lead.Margin(l.time(now), tick, number, margin)
	}
}

// done is the highest number of those that are done with the tick that runs now.
func (l *trial) done() uint64 {
	for number, tick := range l.held {
		if tick <= l.tick {
			l.did = max(l.did, number)
			delete(l.held, number)
		}
	}
	return l.did
}

// send sends an input for the tick after the own one.
func (l *trial) send(now float64, again bool) {
	if len(l.heard) == 0 || l.paused(now) != now {
		return
	}
	l.number++
	number, tick := l.number, uint64(math.Floor(l.lead.At(l.time(now))))+1
	l.lead.Sent(l.time(now), tick, number)
	done := false
	var carry func(now float64, copies int)
	carry = func(now float64, copies int) {
		if d, ok := l.way(); ok {
			l.after(now, d, func(now float64) {
				if !done {
					l.take(now, number, tick, copies)
				}
				done = true
			})
		}
		if again && copies < 4 {
			l.after(now, 1/float64(l.rate), func(now float64) {
				l.lead.Again(tick)
				carry(now, copies+1)
			})
		}
	}
	carry(now, 0)
}

// take is the server that gets an input for the first time.
func (l *trial) take(now float64, number, tick uint64, copies int) {
	margin := int(int64(tick - l.tick))
	l.held[number] = tick
	if number > l.newest {
		l.newest, l.margin = number, max(-128, min(margin, 127))
	}
	if l.came != nil {
		l.came(now, margin, copies)
	}
}

// server is the tick of the server at a time, with its part: a tick is whole when it is run.
func (l *trial) server(now float64) float64 {
	i, _ := slices.BinarySearch(l.ran, now)
	if i == 0 {
		return 0
	}
	part := 0.0
	if i < len(l.ran) {
		part = (now - l.ran[i-1]) / (l.ran[i] - l.ran[i-1])
	} else {
		part = min(1, (now-l.ran[i-1])*float64(l.rate))
	}
	return float64(l.tick) - float64(len(l.ran)) + float64(i-1) + part
}
