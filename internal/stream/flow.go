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

// Flow is the estimate of the path of one stream. The system knows what of the stream has arrived, and is asked once a tick
// at most. Times are those of the hub, from 1 on. It is pure: the system's answers are given to it.
type Flow struct {
	path pace.Path

	written uint64        // bytes of the stream so far
	first   time.Duration // when the first of those was written that no mark covers; 0: there are none
	beside  uint64        // bytes of datagrams on the same path
	alone   int           // ticks since there were some
	acked   uint64        // bytes of the stream that the peer has acknowledged
	beyond  uint64        // bytes behind a gap that were counted as arrived
	arrived uint64        // bytes of datagrams of which an acknowledgement of the stream says that they have arrived, or were lost
	resent  uint64        // bytes that the system has sent again
	again   time.Duration // when it was last seen to do so
	full    bool          // the system sent no more when it was last asked
	gap     bool          // something arrived behind what is missing
	heard   uint64        // segments with data that came from the peer
	sampled uint64        // bytes of the stream of which it is known how long they took

	marks  [maxMarks]mark // a ring: what was written and is not known to have arrived
	head   int
	count  int
	marked uint64 // bytes of both kinds up to the newest

	looked time.Duration // when the system was last asked
	ticks  int           // since
	probed int           // ticks since something was written
	least  time.Duration // the least round trip, as the system knows it
	rtt    time.Duration // the round trip, smoothed, as the system knows it
	waits  bool          // what was found then had waited
	late   bool          // what was found then had waited for long
	silent bool          // it had waited for so long that it is not lost by chance
	loaded bool          // the stream holds much more than its narrow path does
	watch  watch

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
	held   bool   // the system did not send them at once
	bytes  uint64 // of both since the mark before
}

// Arrivals is what the system knows of a stream.
type Arrivals struct {
	Acked  uint64        // bytes that the peer has acknowledged
	Ago    time.Duration // how long ago the last acknowledgement came, at least
	RTT    time.Duration // the round trip, smoothed
	Least  time.Duration // the least round trip
	Resent uint64        // bytes that were sent again
	Unsent int           // bytes that were written and have not been sent yet
	Full   bool          // nothing more is sent until something is acknowledged
	Sacked int           // segments that arrived behind a gap
	Heard  uint64        // segments with data that came from the peer
}

// Stamp notes that something is about to be written.
func (f *Flow) Stamp(at time.Duration) {
	if f.first == 0 {
		f.first = at
	}
}

// Begin takes what was sent since the last tick: the bytes of the stream so far, and those of datagrams beside it since. It reports
// whether the system is to be asked, for Look.
func (f *Flow) Begin(at time.Duration, written uint64, beside int) (look bool) {
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
	return f.wantsLook()
}

// mark notes when the newest bytes were written. If too many are under way, those of several ticks share a mark, and count
// as late as the first of them.
func (f *Flow) mark(at time.Duration) {
	if f.count == maxMarks {
		f.at(f.count - 1).end = f.written
		return
	}
	m := mark{at: at, end: f.written, beside: f.beside, held: f.full && f.ticks <= 1}
	m.bytes = m.end + m.beside - f.marked
	f.marked = m.end + m.beside
	*f.at(f.count) = m
	f.count++
}

// at returns a mark, from the oldest on.
func (f *Flow) at(i int) *mark { return &f.marks[(f.head+i)%maxMarks] }

// wantsLook reports whether the system is to be asked now. A look is a system call, so a stream that was not seen to wait is
// looked at when lookBytes may be under way or after lookTicks, and one of which all has arrived is not.
func (f *Flow) wantsLook() bool {
	if f.count == 0 {
		return false
	}
	fresh := f.beside - f.arrived
	return f.isWatched() || f.written-f.acked >= lookBytes || f.ticks >= lookTicks || fresh >= probeBytes || fresh > 0 && f.ticks >= lookProbe
}

// Look takes what the system knows.
func (f *Flow) Look(at time.Duration, a Arrivals) {
	before := f.looked
	f.looked, f.ticks = at, 0
	if a.Resent > f.resent {
		// What the system sends again takes its share of the path, too.
		f.path.Sent(int(a.Resent - f.resent))
		f.path.Lost(at, int(a.Resent-f.resent))
		f.resent, f.again = a.Resent, at
	}
	a.Acked = min(max(a.Acked, f.acked), f.written)
	f.begin(at, &a)
	newest, burst := f.pass(a.Acked)
	far, isFar := f.behind(a.Acked, a.Sacked)
	beyond := uint64(0)
	if isFar {
		newest, burst, beyond = far, 0, far.end-a.Acked // the gap counts as arrived: it will be, and is small
	}
	n := max(int(a.Acked+beyond)-int(f.acked+f.beyond), 0)
	exact := a.Heard == f.heard || a.Heard == f.heard+1 && (!f.maySeemSlow() || at-before <= exactTime)
	f.acked, f.beyond, f.heard, f.gap = a.Acked, beyond, a.Heard, a.Sacked > 0
	rtt := time.Duration(0)
	if newest.end > f.sampled {
		f.sampled = newest.end
		if isFar || newest.at > f.again { // else it may be what was sent again, or have waited for that
			rtt = roundTrip(before, at-a.Ago, newest.at, &a, exact)
		}
		if (isFar && f.isAlone() || (isFar || newest.held) && f.maySeemSlow()) && f.watch.isDelayed(rtt) && f.doubts() {
			rtt = 0 // there may be several gaps, and less behind them; or it waited here
		}
	}
	if a.Least > 0 && (f.least == 0 || a.Least < f.least) {
		f.path.Acked(at, a.Least, 0) // of a packet as short as any
	}
	f.least, f.rtt = a.Least, a.RTT
	beside := 0
	if newest.beside > f.arrived {
		beside, f.arrived = int(newest.beside-f.arrived), newest.beside
	}
	again := f.watch.delayed
	if rtt > 0 {
		f.watch.sample(f, at, &newest, rtt)
	}
	f.watch.expire(f, at)
	told := rtt
	if f.watch.delayed && !again && f.maySeemSlow() && rtt < f.watch.usual+gatheredTime {
		told = 0 // the peer may have answered late: a queue shows in the next one, too
	}
	f.arrive(at, told, n, min(burst, n), beside)
	if f.watch.held > 0 {
		f.heldArrived(at, at-a.Ago, n)
	}
	f.measure(at)
	age := time.Duration(0)
	if f.count > 0 {
		age = at - f.at(0).at
	}
	if f.maySeemSlow() {
		age = f.watch.age(f, at)
	}
	f.waits = max(rtt, age) > max(a.Least, f.watch.usual)+lookWait+2*f.watch.spread
	f.late = age > max(a.Least, f.watch.least)+lateTime
	f.silent = age > max(a.Least, f.watch.least)+silentTime
}

// doubts reports whether what seems to have waited is left out, as losses can look like that. Where all seems to, it has.
func (f *Flow) doubts() bool {
	if f.isAlone() {
		return true
	}
	f.watch.doubted++
	return f.watch.doubted <= mostDoubted
}

// begin has what the system has not sent yet begin now: while something is missing, it sends little. Datagrams do not wait for that, so it is no
// sign of how they fare.
func (f *Flow) begin(at time.Duration, a *Arrivals) {
	f.full = a.Full || a.Unsent > 0
	if !f.maySeemSlow() {
		return
	}
	for i := f.count - 1; i >= 0 && f.at(i).end+uint64(a.Unsent) > f.written; i-- {
		f.at(i).at, f.at(i).held = at, true
	}
}

// arrive tells the path what has come: n bytes of the stream, the last of them in one burst, and datagrams beside. How long
// those datagrams took is not known, but what a message ahead of some and behind others did.
func (f *Flow) arrive(at, rtt time.Duration, n, burst, beside int) {
	if f.isAlone() {
		f.path.Acked(at, 0, n-burst+beside)
		f.path.Acked(at, f.felt(rtt), burst)
		return
	}
	f.path.Acked(at, 0, n+beside)
	if rtt > 0 && f.watch.held == 0 {
		rtt = f.felt(max(rtt, f.watch.floor()))
		f.path.Acked(at, rtt, 0)
		f.path.Acked(at, rtt, 0) // ahead of a tick's datagrams it has waited as long as the earliest of several
	}
}

// felt returns a round trip as a narrow path is told of it. All of a tick is late by what waits ahead of it, and a tick's datagrams wait for
// each other too. So less of a queue is wanted ahead of a tick than on a path of which each packet tells.
func (f *Flow) felt(rtt time.Duration) time.Duration {
	if rtt == 0 || !f.path.Narrow() {
		return rtt
	}
	if f.isAlone() {
		return rtt + f.path.Wanted()*9/10
	}
	return rtt + max(rtt-f.watch.usual-clockStep, 0) + max(f.path.Wanted()-bunched, 0)
}

// behind returns the newest mark of which the peer has all, if there is a gap before it: of one segment, from a byte on.
func (f *Flow) behind(from uint64, sacked int) (far mark, ok bool) {
	need := sacked + 1
	for i := 0; i < f.count && sacked > 0; i++ {
		m := f.at(i)
		need -= int((m.end - from + segmentBytes - 1) / segmentBytes)
		if need < 0 {
			break
		}
		from, far, ok = m.end, *m, i > 0 || ok
	}
	return far, ok
}

// measure looks at how fast bytes arrive while there are always some under way.
func (f *Flow) measure(at time.Duration) {
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
func (f *Flow) pass(acked uint64) (newest mark, burst int) {
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
// they had not arrived then, and not after the last of all, which is theirs if the peer has sent nothing else. If it has, the system's
// own measure is the best guess in between, though it leaves out how long they waited in its buffer.
func roundTrip(before, last, written time.Duration, a *Arrivals, exact bool) time.Duration {
	least, most := before-written, max(last, before)-written
	if !exact && a.RTT > least {
		most = min(a.RTT, most)
	}
	return max(most, a.Least, 1)
}

// Pace returns what the tick that begins now may do. A stream loses nothing: what was written too much, before its path was
// known to be narrow or as one long message, waits, and all that is written meanwhile waits behind it. So nothing more goes out
// than a player cannot do without, until what waits is as little as the path holds. The path hears of that as of one long tick.
func (f *Flow) Pace(at time.Duration, pending int) Pace {
	p := Pace{Unacked: int(f.written - f.acked)}
	if f.loaded = f.holds(uint64(p.Unacked)); !f.loaded {
		p.Budget = f.path.Budget(at)
	}
	p.Budget = f.restrain(at, p.Budget)
	if f.isAlone() {
		if pending > 0 {
			p.Budget = 0
		}
		p.Probe = f.waits || f.path.Narrow()
	} else {
		fresh := f.written + f.beside - f.marked
		p.Probe = f.isWatched() && fresh > 0 || fresh >= probeMany || f.probed >= lookProbe && fresh >= probeBytes
	}
	switch {
	case !f.late:
	case f.isAlone() || f.watch.held == 0 && !f.maySeemSlow() || f.silent && f.maySeemSlow(): // of datagrams too: they fill the queue in which the stream waits
		p.Budget = 0
	case f.watch.held == 0: // it may have been lost
		p.Budget = min(p.Budget, heldBytes)
	}
	return p
}

// Estimate returns what is known of the path.
func (f *Flow) Estimate() pace.Estimate {
	e := f.path.Estimate()
	e.RTT = f.rtt // what the path was told is longer: see felt
	return e
}

// isAlone reports whether the stream carries everything: datagrams do not wait behind what the stream holds.
func (f *Flow) isAlone() bool { return f.beside == 0 || f.alone > aloneTicks }

// maySeemSlow reports whether what the stream has lost may be taken for a queue: there are datagrams beside it, and nothing shows that the path is
// narrow. Then it takes more to believe in one, as the stream alone tells how all fares: what is behind a gap waits for it, and so does what the
// system holds back while its window is small.
func (f *Flow) maySeemSlow() bool { return !f.isAlone() && !f.path.Narrow() }

// holds reports whether the stream holds more than its narrow path should.
func (f *Flow) holds(unacked uint64) bool {
	if !f.path.Narrow() || !f.isAlone() {
		return false
	}
	room := max(uint64(f.path.Estimate().Rate), f.drained) * uint64(f.least+loadTime) / uint64(time.Second)
	if !f.loaded {
		room *= 2
	}
	return unacked > room+loadBytes
}

// Limit returns how many bytes a second the system may send, 0 for as many as it likes, and whether that has changed much. On a
// narrow path the system would send a chunk of terrain as fast as its window allows, and the queue on the way cuts off the
// most of it. What is lost so holds up all behind it for longer than it takes to send it in peace.
func (f *Flow) Limit() (rate uint64, changed bool) {
	switch {
	case !f.path.Narrow():
	case f.isAlone():
		rate = max(uint64(f.path.Estimate().Rate), f.drained) * pacedShare / 100
	default:
		rate = uint64(f.path.Estimate().Rate) * pacedBeside / 100
	}
	if d := max(rate, f.paced) - min(rate, f.paced); d <= f.paced/8 && rate > 0 || rate == f.paced {
		return f.paced, false
	}
	f.paced = rate
	return rate, true
}
