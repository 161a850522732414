package stream

import (
	"time"

	"parley/internal/pace"
)

// Pace is what a stream may do in a tick.
type Pace struct {
	// Budget is the bytes that this tick may send: see pace.Path.
	Budget int

	// Unacked is how many bytes the peer is not known to have, as far as was looked: those that the carrier holds, those in
	// the system's buffer, and those under way.
	Unacked int

	// Probe says that a message that the peer answers at once would show more: whether there is a queue or only a late
	// acknowledgement, or how datagrams fare that go out beside the stream.
	Probe bool
}

// flow is the estimate of the path of one stream. The system knows what of the stream has arrived, and is asked once a tick
// at most. Times are those of the hub, from 1 on. It is pure: the system's answers are given to it.
type flow struct {
	path pace.Path

	written uint64        // bytes of the stream so far
	first   time.Duration // when the first of those was written that no mark covers; 0: there are none
	beside  uint64        // bytes of datagrams on the same path
	alone   int           // ticks since there were some
	acked   uint64        // bytes of the stream that the peer has acknowledged
	beyond  uint64        // bytes behind a gap that were counted as arrived
	arrived uint64        // bytes of datagrams of which an acknowledgement of the stream says that they have arrived, or were lost
	resent  uint64        // bytes that the system has sent again

	marks [maxMarks]mark // a ring: what was written and is not known to have arrived
	head  int
	count int

	looked time.Duration // when the system was last asked
	ticks  int           // since
	probed int           // ticks since something was written
	least  time.Duration // the least round trip, as the system knows it
	waits  bool          // what was found then had waited
	late   bool          // what was found then had waited for long
	full   int           // times in a row that what was found had waited as in a full queue
	held   bool          // the stream holds much more than its narrow path does

	// A time in which something was always under way: what arrives then is what the path takes, or all that we have.
	busy     time.Duration // when it began
	busyFrom uint64        // bytes that had arrived by then
	drained  uint64        // bytes a second that arrived in the last one
	paced    uint64        // bytes a second that the system may send; 0: as it likes
}

// mark is when bytes were written: those behind the mark before, up to end.
type mark struct {
	at     time.Duration
	end    uint64
	beside uint64 // datagram bytes that went out before
}

// arrivals is what the system knows of a stream.
type arrivals struct {
	acked  uint64        // bytes that the peer has acknowledged
	ago    time.Duration // how long ago the last acknowledgement came, at least
	rtt    time.Duration // the round trip, smoothed
	least  time.Duration // the least round trip
	resent uint64        // bytes that were sent again
	beyond uint64        // bytes that arrived behind a gap, about
}

// stamp notes that something is about to be written.
func (f *flow) stamp(at time.Duration) {
	if f.first == 0 {
		f.first = at
	}
}

// begin takes what was sent since the last tick: the bytes of the stream so far, and those of datagrams beside it since.
func (f *flow) begin(at time.Duration, written uint64, beside int) {
	f.ticks++
	f.probed++
	if n := written - f.written; n > 0 {
		when := at
		if f.first != 0 {
			when = f.first
		}
		f.path.Sent(int(n))
		f.written = written
		f.mark(when)
		f.probed = 0
	}
	f.first = 0
	f.alone++
	if beside > 0 {
		f.alone = 0
		f.path.Sent(beside)
		f.beside += uint64(beside)
	}
}

// mark notes when the newest bytes were written. If too many are under way, those of several ticks share a mark, and count
// as late as the first of them.
func (f *flow) mark(at time.Duration) {
	if f.count == maxMarks {
		f.at(f.count - 1).end = f.written
		return
	}
	*f.at(f.count) = mark{at: at, end: f.written, beside: f.beside}
	f.count++
}

// at returns a mark, from the oldest on.
func (f *flow) at(i int) *mark { return &f.marks[(f.head+i)%maxMarks] }

// wantsLook reports whether the system is to be asked now. A look is a system call, so a stream that was not seen to wait is
// looked at when lookBytes may be under way or after lookTicks, and one of which all has arrived is not.
func (f *flow) wantsLook() bool {
	if f.count == 0 {
		return false
	}
	return f.waits || f.written-f.acked >= lookBytes || f.ticks >= lookTicks || f.beside != f.arrived && f.ticks >= lookProbe || f.path.Narrow()
}

// look takes what the system knows.
func (f *flow) look(at time.Duration, a arrivals) {
	before := f.looked
	f.looked, f.ticks = at, 0
	gap := a.beyond > 0 || f.beyond > 0
	if a.resent > f.resent {
		gap = true
		// What the system sends again takes its share of the path, too.
		f.path.Sent(int(a.resent - f.resent))
		f.path.Lost(at, int(a.resent-f.resent))
		f.resent = a.resent
	}
	a.acked = min(max(a.acked, f.acked), f.written)
	a.beyond = min(a.beyond, f.written-a.acked)
	n := max(int(a.acked+a.beyond)-int(f.acked+f.beyond), 0) // what arrived behind a gap is an estimate
	f.waits = false
	if a.acked > f.acked || n > 0 {
		newest, rtt, burst := mark{beside: f.arrived}, a.rtt, 0
		if a.acked > f.acked {
			newest, burst = f.pass(a.acked)
			rtt = roundTrip(before, at-a.ago, newest.at, &a, gap)
		}
		if a.least > 0 && (f.least == 0 || a.least < f.least) {
			f.path.Acked(at, a.least, 0) // of a packet as short as any
		}
		beside := int(newest.beside - f.arrived)
		if rtt > a.least+fullWait {
			if f.full++; !f.path.Narrow() {
				beside /= 2
			}
		} else {
			f.full = 0
		}
		burst = min(burst, n)
		f.path.Acked(at, 0, n-burst+beside)
		f.path.Acked(at, rtt, burst)
		f.arrived = newest.beside
		if f.full >= fullTimes && !f.isAlone() {
			f.path.Late(at) // a full queue does not grow, and what it drops of datagrams is not known
		}
		f.waits = rtt > a.least+lookWait
	}
	f.acked, f.beyond = a.acked, a.beyond
	f.measure(at)
	age := time.Duration(0)
	if f.count > 0 {
		age = at - f.at(0).at - a.least
	}
	f.waits = f.waits || age > lookWait
	f.least, f.late = a.least, age > lateTime
}

// measure looks at how fast bytes arrive while there are always some under way.
func (f *flow) measure(at time.Duration) {
	arrived := f.acked + f.beyond
	if d := at - f.busy; f.busy > 0 && d >= busyTime {
		// The system tells of segments behind a gap, not of their bytes: when the gap is filled, they may be less than was thought.
		f.drained = (max(arrived, f.busyFrom) - f.busyFrom) * uint64(time.Second) / uint64(d)
		f.busy = 0
	}
	switch {
	case f.count == 0 || f.written-arrived < busyBytes:
		f.busy = 0
	case f.busy == 0:
		f.busy, f.busyFrom = at, arrived
	}
}

// pass drops the marks up to a byte of the stream, and returns that in which the byte before it was written, and how many
// were written with it and before it.
func (f *flow) pass(acked uint64) (newest mark, burst int) {
	end := f.acked
	for f.count > 0 && end < acked {
		newest, burst = *f.at(0), int(min(f.at(0).end, acked)-end)
		if end = newest.end; end <= acked {
			f.head, f.count = (f.head+1)%maxMarks, f.count-1
		}
	}
	return newest, burst
}

// roundTrip returns how long bytes took that were written at a time. Their acknowledgement came after the look before, as
// they had not arrived then, and not after the last of all. In between, the system's own measure is the best guess, though it
// leaves out how long they waited in its buffer. Of bytes that waited behind a gap, that measure is all that there is.
func roundTrip(before, last, written time.Duration, a *arrivals, gap bool) time.Duration {
	least, most := before-written, max(last, before)-written
	if rtt := min(a.rtt, most); gap || a.rtt > least {
		return max(rtt, a.least, 1)
	}
	return max(most, a.least, 1)
}

// pace returns what the tick that begins now may do. A stream loses nothing: what was written too much, before its path was
// known to be narrow or as one long message, waits, and all that is written meanwhile waits behind it. So nothing more goes out
// than a player cannot do without, until what waits is as little as the path holds. The path hears of that as of one long tick.
func (f *flow) pace(at time.Duration, pending int) Pace {
	p := Pace{Unacked: int(f.written - f.acked)}
	if f.held = f.holds(uint64(p.Unacked)); !f.held {
		p.Budget = f.path.Budget(at)
	}
	narrow := f.path.Narrow()
	switch fresh := f.beside - f.arrived; {
	case f.isAlone():
		if pending > 0 {
			p.Budget = 0
		}
		p.Probe = f.waits || narrow
	case narrow:
		p.Probe = f.probed >= narrowProbe
	default:
		p.Probe = f.probed >= lookProbe && fresh >= probeBytes
	}
	if f.late { // of datagrams too: they fill the queue in which the stream waits
		p.Budget = 0
	}
	return p
}

// isAlone reports whether the stream carries everything: datagrams do not wait behind what the stream holds.
func (f *flow) isAlone() bool { return f.beside == 0 || f.alone > aloneTicks }

// holds reports whether the stream holds more than its narrow path should.
func (f *flow) holds(unacked uint64) bool {
	if !f.path.Narrow() || !f.isAlone() {
		return false
	}
	room := max(uint64(f.path.Estimate().Rate), f.drained) * uint64(f.least+heldTime) / uint64(time.Second)
	if !f.held {
		room *= 2
	}
	return unacked > room+heldBytes
}

// limit returns how many bytes a second the system may send, 0 for as many as it likes, and whether that has changed much. On a
// narrow path the system would send a chunk of terrain as fast as its window allows, and the queue on the way cuts off the
// most of it. What is lost so holds up all behind it for longer than it takes to send it in peace.
func (f *flow) limit() (rate uint64, changed bool) {
	if f.path.Narrow() && f.isAlone() {
		rate = max(uint64(f.path.Estimate().Rate), f.drained) * pacedShare / 100
	}
	if d := max(rate, f.paced) - min(rate, f.paced); d <= f.paced/8 && rate > 0 || rate == f.paced {
		return f.paced, false
	}
	f.paced = rate
	return rate, true
}
