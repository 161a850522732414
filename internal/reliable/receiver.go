package reliable

import "time"

// Receiver judges the numbered packets of one direction: it delivers each once and in the order of its lane, and
// decides what to acknowledge. It is pure. Make one with NewReceiver.
//
// After any call, call Next until it returns false, then Acks, and call HandleTimeout at NextTimeout.
//
// Fields that every packet uses come first and lie together.
type Receiver struct {
	acks    acks
	cfg     *ReceiveConfig
	pool    *Pool
	born    time.Time
	held    int32 // packets held in all lanes
	any     bool
	stalled bool   // a packet was refused because the application does not read
	crowded bool   // a packet was refused because other connections hold too much
	bundles bool   // packets share datagrams: see Bundle
	seen    Filter // or, if a lane is Contiguous, holes
	lent    []byte // what Next returned last
	ready   parcels
	stats   ReceiveStats

	newest uint64     // the newest reliable packet, to acknowledge again after a stall
	waits  *heldLanes // the held packets, nil if there are none
	lanes  [lanes]receiveLane
	holes  Holes
	rtt    time.Duration
}

type receiveLane struct {
	last uint64 // Linked, Newest: the last delivered, if any
	upto uint64 // Patient: every smaller number is received or given up
	any  bool
}

// Packet is a received packet as the receiver sees it.
type Packet struct {
	Number   uint64 // unwrapped to 64 bits
	Reliable bool   // it must be acknowledged
	// Lane is the lane of an ordered packet, counted from 1. A packet of lane 0 is delivered at once.
	Lane uint8
	// Back is for Linked lanes: how many numbers back the predecessor is; 0 means none.
	Back uint64
	// Data is copied if it is kept.
	Data []byte
}

// Fate is the fate of a received packet.
type Fate uint8

const (
	// Ready means that Next returns it.
	Ready Fate = iota + 1
	// Held means that it waits for earlier ones.
	Held
	// Repeat means that it was received before. It is acknowledged again.
	Repeat
	// Old means that it is too old to know whether it was received.
	Old
	// Far means that it is further ahead than any honest sender is.
	Far
	// Refused means that a limit is reached. It is not acknowledged, and comes again.
	Refused
	// Violation means that it breaks the rules of its order. It is not acknowledged.
	Violation
	// Skipped means that its place was given up. It is acknowledged, but not delivered.
	Skipped
	// Outdated means that a newer one was delivered. It is acknowledged, but not delivered.
	Outdated
)

// String returns the fate's name.
func (f Fate) String() string {
	return nameOf(uint8(f), "unset", "ready", "held", "repeat", "old", "far", "refused", "violation", "skipped", "outdated")
}

// NewReceiver returns a receiver for numbers from first on. A nil config means the zero ReceiveConfig. With a nil
// pool the receiver makes its own.
func NewReceiver(now time.Time, first uint64, cfg *ReceiveConfig, b *Pool) Receiver {
	if cfg == nil || !cfg.filled {
		var c ReceiveConfig
		if cfg != nil {
			c = *cfg
		}
		cfg = c.Filled()
	}
	r := Receiver{cfg: cfg, pool: b.open(), born: now}
	r.seen.next, r.holes.next = first, first
	r.ready.each = cfg.Overhead
	for i := range r.lanes {
		r.lanes[i].upto = first
	}
	return r
}

func (r *Receiver) at(now time.Time) time.Duration { return max(now.Sub(r.born), 0) + 1 }

// Receive judges a packet and returns its fate.
func (r *Receiver) Receive(now time.Time, p Packet) Fate {
	at := r.at(now)
	if fate := r.known(at, &p); fate != 0 {
		return fate
	}
	fate := r.judge(&p)
	switch fate {
	case Refused:
		r.stats.Refused++
		return fate
	case Violation:
		r.stats.Violation++
		return fate
	case Skipped:
		r.stats.Skipped++
	case Outdated:
		r.stats.Outdated++
	}
	r.mark(at, p.Number)
	r.owe(at, &p, 0)
	r.keep(at, &p, fate)
	return fate
}

// Pass judges a packet that its dialect handles itself, such as a clock packet. It reports whether the number is
// fresh, and if so counts the packet as delivered. A reliable packet is acknowledged, and a repeat is
// acknowledged again.
func (r *Receiver) Pass(now time.Time, n uint64, reliable bool) bool {
	at, p := r.at(now), Packet{Number: n, Reliable: reliable}
	if r.known(at, &p) != 0 {
		return false
	}
	if r.held > 0 && r.linkedTo(&p) {
		r.stats.Violation++
		return false
	}
	r.mark(at, n)
	r.owe(at, &p, 0)
	r.stats.Delivered++
	if r.held > 0 {
		r.release(at)
	}
	return true
}

// known counts a packet and returns its fate if its number is not fresh, 0 if it is. A repeat is acknowledged
// again.
func (r *Receiver) known(at time.Duration, p *Packet) Fate {
	r.stats.In++
	switch r.check(p.Number) {
	case Seen:
		r.stats.Repeat++
		r.owe(at, p, r.repeatWait())
		return Repeat
	case Stale:
		r.stats.Stale++
		return Old
	case TooFar:
		r.stats.TooFar++
		return Far
	}
	return 0
}

func (r *Receiver) check(n uint64) Sight {
	if r.cfg.allCome {
		return r.holes.Check(n, r.cfg.MaxHoles)
	}
	return r.seen.Check(n)
}

func (r *Receiver) mark(at time.Duration, n uint64) {
	if r.cfg.allCome {
		r.holes.Mark(at, n)
	} else {
		r.seen.Mark(n)
	}
}

// owe notes that a reliable packet is to be acknowledged, and how long that may wait.
func (r *Receiver) owe(at time.Duration, p *Packet, wait time.Duration) {
	if !p.Reliable {
		return
	}
	if !r.any || p.Number > r.newest {
		r.newest, r.any = p.Number, true
	}
	r.stats.AcksForgotten += uint64(r.acks.add(at+r.cfg.AckDelay+wait, p.Number, r.pool))
}

// judge decides the fate of a fresh packet. It changes nothing but the notes that the receiver is stalled or
// crowded.
func (r *Receiver) judge(p *Packet) Fate {
	fate := Ready
	if p.Lane > 0 {
		fate = r.judgeLane(p)
	}
	if fate != Violation && r.held > 0 && r.linkedTo(p) {
		return Violation
	}
	switch {
	case fate == Held && !r.mayHold(p):
		return Refused
	case fate == Ready && r.ready.count > 0 && r.ready.bytes+len(p.Data)+r.cfg.Overhead > r.cfg.MaxReady:
		r.stalled = true
		return Refused
	}
	return fate
}

func (r *Receiver) heldBytes() int {
	n := 0
	for i := range r.lanes {
		n += r.heldIn(i).bytes
	}
	return n
}

// keep stores a packet that is to be delivered now or later, and releases packets that waited for it.
func (r *Receiver) keep(at time.Duration, p *Packet, fate Fate) {
	switch fate {
	case Ready:
		c := r.deliver(p.Lane, p.Number, len(p.Data))
		c.number, c.data, c.at, c.lane = p.Number, r.pool.Copy(p.Data), at, p.Lane
	case Held:
		r.hold(&parcel{number: p.Number, before: p.Number - p.Back, data: r.pool.Copy(p.Data), at: at, lane: p.Lane})
	}
	if r.held > 0 {
		r.release(at)
	}
}

// deliver moves a lane on and returns a place in the application's queue.
func (r *Receiver) deliver(lane uint8, number uint64, n int) *parcel {
	if lane > 0 {
		l := &r.lanes[lane-1]
		l.last, l.any = number, true
		l.upto = max(l.upto, number+1)
	}
	return r.ready.push(r.pool, n)
}

// Delivery is a packet for the application.
type Delivery struct {
	Number uint64
	Data   []byte // valid until the next call
}

// Next returns the next packet for the application, false if there is none.
func (r *Receiver) Next(now time.Time) (Delivery, bool) {
	if r.lent != nil {
		r.pool.Give(r.lent)
		r.lent = nil
	}
	if r.ready.count == 0 {
		return Delivery{}, false
	}
	number, data := r.ready.at(0).number, r.ready.at(0).data
	r.ready.pop(r.pool)
	r.lent = data
	r.stats.Delivered++
	if r.stalled && r.ready.bytes <= r.cfg.MaxReady/2 {
		// The sender backs off from a receiver that takes nothing. An acknowledgement, even a repeated one,
		// tells it to try again now.
		r.stalled = false
		r.Remind(now)
	}
	return Delivery{Number: number, Data: data}, true
}

// Fresh reports whether a number has not arrived yet and may arrive.
func (r *Receiver) Fresh(n uint64) bool { return r.check(n) == Fresh }

// Complete returns the number below which everything has arrived. Contiguous only.
func (r *Receiver) Complete() uint64 { return r.holes.Complete() }

// Held returns how many bytes wait for smaller numbers, plus the memory for the missing numbers. Contiguous
// only.
func (r *Receiver) Held() int {
	n := holeBytes * len(r.holes.missing)
	if r.held > 0 {
		n += r.heldBytes()
	}
	return n
}

// Unread takes back the last result of Next from a caller that has no room for it now. Next returns it again.
func (r *Receiver) Unread(d Delivery) {
	r.lent = nil
	r.ready.unpop(r.pool, &parcel{number: d.Number, data: d.Data})
	r.stats.Delivered--
}

// Remind schedules another acknowledgement of the newest packet, so that a waiting sender knows that its peer is
// alive, and tries again.
func (r *Receiver) Remind(now time.Time) { r.remind(r.at(now)) }

func (r *Receiver) remind(at time.Duration) {
	if r.any {
		r.stats.AcksForgotten += uint64(r.acks.add(at+r.cfg.AckDelay, r.newest, r.pool))
	}
}

// Peek returns the data of the packet that Next returns after n others, false if there are not so many. It is valid
// until the next call.
func (r *Receiver) Peek(n int) ([]byte, bool) {
	if n >= r.ready.count {
		return nil, false
	}
	return r.ready.at(n).data, true
}

// HasNext reports whether Next has a packet.
func (r *Receiver) HasNext() bool { return r.ready.count > 0 }

// Acks moves the acknowledgements that are due now into dst and returns how many. Replica and stamp put one
// into a packet, relay as many as fit.
func (r *Receiver) Acks(now time.Time, dst []uint64) int {
	if r.acks.count == 0 || !r.acks.ready(r.at(now), r.cfg) {
		return 0
	}
	n := r.acks.take(dst, r.pool)
	r.stats.AcksOut += uint64(n)
	return n
}

// Bundle has acknowledgements share datagrams with other packets from now on. Then call AckRun instead of Acks.
func (r *Receiver) Bundle() { r.bundles = true }

// repeatWait is how long the acknowledgement of a packet that came before may wait for a datagram that leaves anyway. Its first one went out at once.
func (r *Receiver) repeatWait() time.Duration {
	if r.bundles {
		return repeatWait
	}
	return 0
}

// AckRun takes up to most acknowledgements that are due now, of numbers that follow each other, or may ride along in a datagram that
// leaves anyway. It returns the first number and how many there are, 0 if there are none.
func (r *Receiver) AckRun(now time.Time, most int, ride bool) (first uint64, n int) {
	if r.acks.count == 0 || !ride && !r.acks.ready(r.at(now), r.cfg) {
		return 0, 0
	}
	first, n = r.acks.takeRun(most, r.pool)
	r.stats.AcksOut += uint64(n)
	return first, n
}

// SetRTT sets the round-trip time, from which Patient lanes take their hold time.
func (r *Receiver) SetRTT(d time.Duration) { r.rtt = d }

// OldestHole returns when the smallest missing number was found missing, false if none is missing. Contiguous
// only.
func (r *Receiver) OldestHole() (time.Time, bool) {
	if len(r.holes.missing) == 0 {
		return time.Time{}, false
	}
	return r.born.Add(r.holes.missing[0].since - 1), true
}

// NextTimeout returns when to call HandleTimeout next.
func (r *Receiver) NextTimeout() (time.Time, bool) {
	next := r.acks.due
	for i := 0; r.held > 0 && i < lanes; i++ {
		if q := r.heldIn(i); r.cfg.Rules[i] == Patient && q.count > 0 {
			next = earliest(next, q.at(0).at+r.holdTime())
		}
	}
	if next == 0 {
		return time.Time{}, false
	}
	return r.born.Add(next - 1), true
}

// HandleTimeout does everything that is due. It may be called early or late.
func (r *Receiver) HandleTimeout(now time.Time) { r.release(r.at(now)) }

// Waiting returns the number of packets that are held or ready.
func (r *Receiver) Waiting() int {
	return r.ready.count + int(r.held)
}

// WaitingBytes returns how many bytes the packets of Waiting count against MaxHeld and MaxReady.
func (r *Receiver) WaitingBytes() int { return r.ready.bytes + r.heldBytes() }

// Stats returns the counters.
func (r *Receiver) Stats() ReceiveStats { return r.stats }

// Check returns an error if the counters do not add up.
func (r *Receiver) Check() error { return r.stats.check(r.Waiting()) }

// Close drops everything that waits.
func (r *Receiver) Close() {
	if r.lent != nil {
		r.pool.Give(r.lent)
		r.lent = nil
	}
	n := r.ready.drop(r.pool)
	for i := range r.lanes {
		n += r.heldIn(i).drop(r.pool)
	}
	r.held = 0
	if r.waits != nil {
		r.waits.data = 0
		r.charge()
		r.leaveHeld()
	}
	r.stats.Discarded += uint64(n)
	r.acks.clear(r.pool)
}
