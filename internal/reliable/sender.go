package reliable

import (
	"errors"
	"math/rand/v2"
	"time"

	"parley/internal/lend"
)

var (
	// ErrWindowFull means that too much is unacknowledged: try again after the
	// next acknowledgement. Nothing was sent and no number was used.
	ErrWindowFull = errors.New("reliable: window full: too much is unacknowledged")
	// ErrTooLarge means that the packet can never be sent.
	ErrTooLarge = errors.New("reliable: packet larger than any datagram")
	// ErrClosed means that the sender was closed or has given up.
	ErrClosed = errors.New("reliable: sender is closed")
)

// Sender numbers the packets of one direction, keeps the reliable ones until they are acknowledged, and decides
// what to send when. It is pure: numbers and times in, packets out. Make one with NewSender. It must not be
// copied after its first use.
//
// After any call, call Poll and PollLost until they return false, check Failed, and call HandleTimeout at
// NextTimeout.
//
// Fields that every packet uses come first and lie together: a server with thousands of connections spends its
// time reading their memory.
type Sender struct {
	cfg      *SendConfig
	born     time.Time
	next     uint64 // the number that the next packet takes
	waiting  uint32 // how many are queued
	unacked  uint32 // packets queued, flying and lost
	failed   Reason
	probing  bool          // the caller found the window used up
	probeDue bool          // the probe goes out with the next Poll
	vague    uint8         // acknowledgements in a row that said nothing of the round trip
	reliable uint32        // the low bits of the newest number given to a reliable packet
	timerAt  time.Duration // no flight is due earlier; 0 if none flies
	fastAt   time.Duration // when packets passed by later ones count as lost; 0 if none
	resend   line
	copies   line

	newestAcked uint64 // the peer may be assumed to know everything up to it
	path        *path  // nil before the first Budget
	early       early
	pool        *Pool
	express     line
	losses      line   // that PollLost has not returned yet
	later       line   // further copies, if packets share datagrams
	bundles     bool   // they do: see sender_join.go
	joined      bool   // the datagram that was begun last has a packet of ours
	copyLeads   bool   // the first of them is a copy that was due
	timed       bool   // and it has its place among all: see takeTx
	lead        uint32 // id of the flight that took it
	told        uint32 // bytes of that datagram that the path knows of

	oldest   uint32 // id of the oldest unacknowledged flight
	unsent   uint32 // id before which nothing is queued
	values   uint32 // packets of Options.Report that are queued
	wire     wire
	tx       uint64 // datagrams so far, without those of copies alone
	bytes    int    // queued, flying and lost
	total    uint64 // bytes taken so far
	inFlight int    // bytes on the wire as the congestion window counts them
	flights  flights
	lanes    sendLanes
	rtt      roundTrip
	twice    twice
	heardAt  time.Duration // newest acknowledgement
	ackedAt  time.Duration // time of the newest first acknowledgement of a packet
	topTx    [3]uint64     // the three newest datagrams of which a packet was acknowledged
	reorder  time.Duration // how late reordered packets are known to come
	pacer    pacer
	stats    SendStats
	loss     lossMeter
	cong     congestion
	rand     *rand.Rand
}

type sendLanes struct {
	last    [lanes]uint64 // newest number in each lane
	unacked [lanes]uint32
}

// Reason is the reason why a Sender gave up.
type Reason uint8

const (
	// ReasonUnacknowledged means that a packet was resent as often as the rules allow and never acknowledged.
	ReasonUnacknowledged Reason = iota + 1
	// ReasonClosed means that Close was called.
	ReasonClosed
)

// String returns the reason in words.
func (r Reason) String() string {
	return nameOf(uint8(r), "none", "a reliable packet was never acknowledged", "closed")
}

// Options are the options of a packet.
type Options struct {
	// Lane is the lane of an ordered packet, counted from 1; 0 means unordered.
	Lane uint8
	// Pass lets a small ordered packet pass bulk data that waits, as unordered packets do. It is for a lane
	// without bulk data.
	Pass bool
	// Report makes PollLost report a loss, and the packet is not resent. It is for values whose newest state
	// replaces the lost one.
	Report bool
	// Tag is returned with each transmission, and with the acknowledgement or the loss.
	Tag uint32
	// Shared, if set, is the packet: it is kept without a copy, shared with other senders, and the packet given
	// to Send is ignored.
	Shared *lend.Shared
}

// Loss is a packet of Options.Report that is considered lost.
type Loss struct {
	Number uint64
	Tag    uint32
}

// NewSender returns a sender whose first number is first. The pool and the random source may be shared with other
// connections of the same goroutine. A nil config means the zero SendConfig. With a nil pool the sender makes
// its own.
func NewSender(now time.Time, first uint64, cfg *SendConfig, b *Pool, r *rand.Rand) Sender {
	if cfg == nil || !cfg.filled {
		var c SendConfig
		if cfg != nil {
			c = *cfg
		}
		cfg = c.Filled()
	}
	if r == nil {
		panic("reliable: NewSender needs a source of randomness")
	}
	s := Sender{cfg: cfg, pool: b.open(), rand: r, born: now, next: first, tx: 1}
	s.newestAcked, s.reliable = first-1, uint32(first-1)
	s.cong.window = firstWindowBytes
	s.pacer = pacer{credit: paceBurst, small: smallBurst}
	if cfg.CopyFirst {
		s.loss.assume()
		s.early.update(s.loss.oneWay())
	}
	return s
}

// at turns a time into the nanoseconds since birth that the sender keeps,
// which start at 1 so that 0 can mean "not set".
func (s *Sender) at(now time.Time) time.Duration { return max(now.Sub(s.born), 0) + 1 }

// Next returns the number that the next packet will take.
func (s *Sender) Next() uint64 { return s.next }

// Oldest returns the smallest unacknowledged number, or Next if there is none.
func (s *Sender) Oldest() uint64 {
	if s.unacked == 0 {
		return s.next
	}
	return s.oldestNumber()
}

// Ready returns an error if a reliable packet of n bytes would not be taken now.
func (s *Sender) Ready(n int) error {
	switch {
	case s.failed != 0:
		return ErrClosed
	case n > maxPacketBytes:
		return ErrTooLarge
	case s.spanUsed() || s.unacked > 0 && s.spanBytes()+n > s.maxBytes(n):
		return ErrWindowFull
	}
	return nil
}

// maxBytes keeps an eighth of the window for small packets, so that bulk data never keeps a game from sending.
func (s *Sender) maxBytes(n int) int {
	if n <= smallPacketBytes {
		return s.cfg.MaxBytes
	}
	return s.cfg.MaxBytes - s.cfg.MaxBytes/8
}

// spanBytes is the number of bytes taken from the oldest unacknowledged packet on: the peer may have to hold
// all of them until that packet comes.
func (s *Sender) spanBytes() int { return int(uint32(s.total) - s.flights.at(s.oldest).before) }

// spanUsed reports whether the next number is too far beyond the newest
// acknowledged one or the oldest in flight.
func (s *Sender) spanUsed() bool {
	return s.next-s.newestAcked > s.cfg.Span || s.unacked > 0 && s.next-s.oldestNumber() >= s.cfg.Span
}

func (s *Sender) oldestNumber() uint64 { return s.flights.at(s.oldest).number }

// Send takes the next number for a reliable packet and keeps a copy of it until it is acknowledged. The packet's
// bytes already contain that number, or the caller writes it before each transmission.
func (s *Sender) Send(now time.Time, packet []byte, o Options) error {
	if o.Shared != nil {
		packet = o.Shared.Bytes()
	}
	e, err := s.accept(len(packet), &o)
	if err != nil {
		return err
	}
	s.load(e, packet, o.Shared)
	return nil
}

// Place takes the next number for a reliable packet of n bytes and returns its buffer. The caller fills it at
// once, which saves Send's copy.
func (s *Sender) Place(now time.Time, n int, o Options) ([]byte, error) {
	e, err := s.accept(n, &o)
	if err != nil {
		return nil, err
	}
	e.data = s.pool.Take(n)
	return e.data, nil
}

// accept queues a packet of n bytes, which the caller fills in.
func (s *Sender) accept(n int, o *Options) (*flight, error) {
	if err := s.Ready(n); err != nil {
		s.stats.WindowFull++
		s.probing = err == ErrWindowFull
		return nil, err
	}
	s.dropProbe()
	id, e := s.flights.push(s.pool)
	*e = flight{number: s.next, before: uint32(s.total), state: queued, lane: o.Lane, report: o.Report, tag: o.Tag}
	if s.unacked == 0 {
		s.oldest = id
	}
	if s.waiting == 0 {
		s.unsent = id
	}
	s.unacked++
	s.bytes += n
	s.total += uint64(n)
	s.reliable = uint32(s.next)
	s.next++
	if o.Lane > 0 {
		s.lanes.last[o.Lane-1] = e.number
		s.lanes.unacked[o.Lane-1]++
	}
	s.waiting++
	if o.Report {
		s.values++
	}
	// A small packet that is unordered or may pass need not wait for bulk data ahead of it.
	if (o.Lane == 0 || o.Pass) && n <= smallPacketBytes && s.waiting > 1 {
		s.flights.lineAppend(&s.express, id)
	}
	s.stats.Accepted++
	return e, nil
}

// load gives a flight its bytes: a copy, or the shared ones.
func (s *Sender) load(e *flight, packet []byte, shared *lend.Shared) {
	if shared == nil {
		e.data = s.pool.Copy(packet)
		return
	}
	shared.Retain()
	e.data, e.shared = shared.Bytes(), shared
}

// unload takes a flight's bytes away.
func (s *Sender) unload(e *flight) {
	if e.shared != nil {
		s.pool.Release(e.shared)
	} else if e.data != nil {
		s.pool.Give(e.data)
	}
	e.data, e.shared = nil, nil
}

// Take takes the next number for an unreliable packet of n bytes, which the
// sender does not keep.
func (s *Sender) Take(now time.Time, n int) (uint64, error) {
	if s.failed != 0 {
		return 0, ErrClosed
	}
	if s.spanUsed() {
		s.stats.WindowFull++
		s.probing = true
		return 0, ErrWindowFull
	}
	s.next++
	s.early.noteSent(s.at(now), n)
	return s.next - 1, nil
}

// SinceReliable returns how many numbers were taken since the newest reliable
// packet: "at least one of any 2,048 consecutive numbers is a reliable packet"
// (replica, Sequences).
func (s *Sender) SinceReliable() uint64 { return uint64(uint32(s.next-1) - s.reliable) }

// Link returns how many numbers back the previous packet of a lane is from the next number, or 0 if all packets
// of the lane are acknowledged. Replica writes it into flag bits 2–6.
func (s *Sender) Link(lane uint8) uint64 {
	if s.lanes.unacked[lane-1] == 0 {
		return 0
	}
	return s.next - s.lanes.last[lane-1]
}

// InFlight returns the number of unacknowledged packets of a lane; lane 0 means all.
func (s *Sender) InFlight(lane uint8) int {
	if lane == 0 {
		return int(s.unacked)
	}
	return int(s.lanes.unacked[lane-1])
}

// Pressure is how far a sender is behind its caller.
type Pressure struct {
	Packets int           // accepted and not yet sent
	Bytes   int           // accepted and not yet acknowledged
	Delay   time.Duration // how long the queue will take at the present rate
}

// Pressure returns how much is waiting.
func (s *Sender) Pressure() Pressure {
	p := Pressure{Packets: int(s.waiting + s.resend.count), Bytes: s.bytes}
	if rate := s.Rate(); p.Packets > 0 && rate > 0 {
		p.Delay = time.Duration(int64(s.bytes-s.inFlight) * int64(time.Second) / rate)
	}
	return p
}

// RTT returns the smoothed round-trip time, 0 while it is unknown.
func (s *Sender) RTT() time.Duration { return s.rtt.smoothed }

// Sample takes a round trip that was measured elsewhere, for example by replica's sync.
func (s *Sender) Sample(d time.Duration) { s.rtt.sample(d) }

// Doubling reports whether early resends are on, or some are still to be sent. Each of them has a timer of a
// few milliseconds.
func (s *Sender) Doubling() bool {
	return s.copies.count|s.later.count > 0 || s.early.on && !s.cfg.NoEarly
}

// Rate returns the estimate of the bytes a second that the path carries. Layers above use it to decide how much
// to send.
func (s *Sender) Rate() int64 {
	rtt := s.rtt.smoothed
	if rtt == 0 {
		rtt = s.cfg.FirstRTO
	}
	return int64(s.cong.window) * int64(time.Second) / int64(rtt)
}

// Failed returns the reason why the sender gave up, 0 while it has not.
func (s *Sender) Failed() Reason { return s.failed }

// Stats returns the counters.
func (s *Sender) Stats() SendStats { return s.stats }

// Check returns an error if the counters do not add up.
func (s *Sender) Check() error { return s.stats.check(int(s.unacked)) }

// Close drops everything. Later calls do nothing.
func (s *Sender) Close() { s.fail(ReasonClosed) }

func (s *Sender) fail(r Reason) {
	if s.failed != 0 {
		return
	}
	s.failed = r
	for i := range s.flights.count {
		e := s.flights.at(s.flights.head + i)
		s.unload(e)
		*e = flight{state: done}
	}
	s.stats.Abandoned += uint64(s.unacked)
	s.flights.trim(s.pool)
	s.wire, s.resend, s.express, s.copies, s.later, s.losses = wire{}, line{}, line{}, line{}, line{}, line{}
	s.waiting, s.values, s.unacked, s.bytes, s.inFlight = 0, 0, 0, 0, 0
	s.timerAt, s.fastAt, s.probeDue = 0, 0, false
}
