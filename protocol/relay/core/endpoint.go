package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/lend"
	"parley/internal/metric"
	"parley/internal/queue"
	"parley/internal/reliable"
	"parley/internal/wire"
)

var (
	// ErrClosed means that the conversation has ended or is ending.
	ErrClosed = errors.New("relay: out of the room")
	// ErrNotJoined means that a client is not in the room yet.
	ErrNotJoined = errors.New("relay: not in the room yet")
	// ErrBacklogFull means that too much is unconfirmed, and too much more is queued. Try again later.
	ErrBacklogFull = errors.New("relay: too much waits to be confirmed")
	// ErrPayloadSize means that the payload does not have 1 to MaxPayload bytes. An empty package would not be delivered.
	ErrPayloadSize = errors.New("relay: payload is empty or too large")
	// ErrTag means that a tag is not from 1 to MaxTag, or is for an unreliable package.
	ErrTag = errors.New("relay: tag is out of range, or of an unreliable package")
	// ErrMode means that there is no such mode.
	ErrMode = errors.New("relay: no such mode")
)

// State is the state of one end of a conversation.
type State uint8

const (
	// StateJoining is the state of a client whose first package is not confirmed yet.
	StateJoining State = iota + 1
	// StateOpen is the state in which packages go both ways.
	StateOpen
	// StateLeaving is the state in which we wait for confirmations before we leave.
	StateLeaving
	// StateClosing is the state of a client that has said that it is leaving.
	StateClosing
	// StateClosed is the state of an ended conversation.
	StateClosed
)

var stateNames = [...]string{"unset", "joining", "open", "leaving", "closing", "closed"}

// String returns the state's name.
func (s State) String() string { return wire.NameOf(s, stateNames[:]) }

// Endpoint is one end of one conversation: a pure state machine. NewClient makes a client's Endpoint. A server has one in
// each Peer. Call its methods in this order: Handle* → PollEvent until false → PollTransmit until false → sleep until
// NextTimeout.
type Endpoint struct {
	// Fields that each package to the peer uses come first and lie together: a room spends most
	// of its time waiting for this memory.
	rules       *Rules
	shared      *Shared
	now         time.Time // of the newest call, for PollTransmit
	peer        netip.AddrPort
	state       State
	client      bool // which end we are
	ride        bool // a package has gone out in this turn
	blocked     bool // the allowance is used up
	paid        bool // confirmations have gone out: none is due now
	announce    bool // EventJoined is due
	last        bool // EventLeft is due
	prompt      bool // confirmations go out now: the peer measures the path
	allowance   admission.Allowance
	credit      int32                // bytes of allowance that are booked and not yet used
	looseHeld   int32                // bytes held by looseOut
	out         uint64               // datagrams put on the wire
	looseOut    queue.Fifo[outgoing] // unreliable packages that wait for the socket
	probes      *probes              // measure the path: nil before the first Budget
	nextLoose   uint32               // our next unreliable id
	confirmedMS uint32               // when the newest confirmation went out, in milliseconds
	backlog     backlog              // reliable packages that wait for the window
	sender      reliable.Sender

	receiver    reliable.Receiver
	heard       time.Time     // newest valid datagram
	near        uint64        // newest reliable number that came, to unwrap against
	looseIn     queue.Packets // unreliable packages that wait for the application
	lentIn      []byte        // the unreliable package that the application has
	newestLoose uint32        // the peer's newest unreliable id
	anyLoose    bool          // newestLoose is valid
	answered    bool          // the peer has confirmed something
	beaten      bool          // the empty package for this silence was sent
	hold        bool          // reliable packages are left in the engine for now

	*rare
	stats counters
}

// rare is what most ends never need. It is made when one does: 4,000 peers do not hold it.
type rare struct {
	queue      outbox
	closing    closing
	malformed  malformed
	nonce      uint64    // of the newest challenge that a client got
	challenged bool      // it has answered one
	answers    int       // how many it has answered that came instead of the first
	first      []byte    // the datagram that it began with, until it is let in
	again      uint8     // that goes out once more, behind the answer
	joinedAt   time.Time // when it was let in
	unheardAt  time.Time // when it gives up if nothing came until then; zero is never
	parting    []byte    // confirmations that go out after the end
	why        Close     // of Peer.Leave
	expected   *expected
	source     netip.AddrPort     // the true address of a peer at a server, if its own is made up
	was        Progress           // how far it had come when it ended
	resumeAt   uint64             // smaller ids are of a former conversation: see Progress
	refusedAt  time.Time          // when a package of a peer was last not taken because too many wait
	tookAt     time.Time          // when one was taken nevertheless
	spared     bool               // its address is not ignored when it is gone
	survey     survey             // measures the path for RTT
	acked      queue.Fifo[uint32] // tags of confirmed packages that the game is to be told of: at most maxOutstanding
}

// seldom returns what is rare, which is there from now on.
func (e *Endpoint) seldom() *rare {
	if e.rare == nil {
		e.rare = new(rare)
	}
	return e.rare
}

// outgoing is a package on its way to the wire.
type outgoing struct {
	payload *lend.Shared // nil is empty
	tag     uint32       // of Peer.SendTagged, or 0
	flags   uint8
}

// The engine keeps a number for each package: the flags, and above them the tag.
const (
	tagShift = 8

	// MaxTag is the greatest tag of Peer.SendTagged.
	MaxTag = 1<<(32-tagShift) - 1
)

// outgoingBytes is what a package costs in a queue beside its payload.
const outgoingBytes = 32

func (o *outgoing) bytes() []byte {
	if o.payload == nil {
		return nil
	}
	return o.payload.Bytes()
}

func (o *outgoing) held() int { return outgoingBytes + len(o.bytes()) }

// malformed counts what is no datagram of ours.
type malformed struct {
	since time.Time
	count int
}

// Stats counts the datagrams of one end of a conversation by their fate.
type Stats struct {
	In            uint64 // datagrams: the sum of the five below
	Malformed     uint64 // invalid datagrams
	Confirmations uint64 // confirmations; Reliable counts the ids in them
	Confirmable   uint64 // reliable packages; Reliable counts their fates
	Loose         uint64 // unreliable packages
	OutOfState    uint64 // valid, but not in this state

	LooseOver   uint64 // unreliable packages dropped because their sender had no share of the room's rate left
	LooseUnread uint64 // unreliable packages dropped because nobody read
	LooseUnsent uint64 // unreliable packages dropped because the socket was behind, or the address is unproven
	Out         uint64 // datagrams sent
	Beats       uint64 // empty packages sent to check that the peer is alive
	Probes      uint64 // empty packages sent to measure the path
	Reliable    EngineStats
}

// sums adds the counters of connections.
var sums = metric.NewAdder[Stats]()

// counters are those of Stats that nobody else has.
type counters struct {
	In, Malformed, Confirmations, Confirmable, Loose, OutOfState uint64
	LooseOver, LooseUnread                                       uint64
	LooseUnsent, Beats                                           uint32 // which are rare: a peer has no byte to spare
}

// Check returns an error if the counters do not add up.
func (s *Stats) Check() error {
	if sum := s.Malformed + s.Confirmations + s.Confirmable + s.Loose + s.OutOfState; sum != s.In {
		return fmt.Errorf("relay: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	if s.Confirmable != s.Reliable.In {
		return fmt.Errorf("relay: %d reliable packages came, but the engine got %d", s.Confirmable, s.Reliable.In)
	}
	return nil
}

// Shared is what the endpoints of one Mux or one client share. Its zero value is usable, except for Rand.
type Shared struct {
	buffers reliable.Pool
	Rand    *rand.Rand

	numbers [MaxConfirmed]uint64 // scratch for one confirmation

	spareLines    lend.Spares[*line]
	spareBacklogs lend.Spares[*lines]
	born          time.Time // of the first endpoint
}

// ms returns a time in milliseconds, which wrap after 49 days: only their differences mean something.
func (s *Shared) ms(now time.Time) uint32 {
	if s.born.IsZero() {
		s.born = now
	}
	return uint32(now.Sub(s.born) / time.Millisecond)
}

func newEndpoint(now time.Time, peer netip.AddrPort, client bool, r *Rules, s *Shared, first uint64) Endpoint {
	e := Endpoint{
		rules: r, shared: s, client: client, state: StateOpen, peer: admission.Canon(peer), now: now, heard: now,
		sender:   reliable.NewSender(now, first, r.send, &s.buffers, s.Rand),
		receiver: reliable.NewReceiver(now, first, r.recv, &s.buffers),
		near:     first, confirmedMS: s.ms(now),
	}
	e.nextLoose, e.newestLoose = uint32(first)&MaxID, uint32(first)&MaxID
	if r.Grace < 0 || client || admission.Nearby(e.peer.Addr()) {
		e.allowance.Prove()
	} else {
		e.allowance = admission.NewAllowance(r.Grace)
	}
	return e
}

// numberFrom has our reliable packages begin at an id, as those before it were sent by other means. Nothing
// was sent yet.
func (e *Endpoint) numberFrom(first uint64) {
	e.sender = reliable.NewSender(e.now, first, e.rules.send, &e.shared.buffers, e.shared.Rand)
}

// Advance sets the time for calls before the next Handle*. An earlier time is ignored.
func (e *Endpoint) Advance(now time.Time) {
	if now.After(e.now) {
		e.now = now
	}
}

// Over returns the reason why the conversation has ended, as a Close, if it has. Events may still be waiting for PollEvent.
func (e *Endpoint) Over() (why error, over bool) {
	if e.state != StateClosed {
		return nil, false
	}
	return e.closing.close, true
}

// State returns the state of this end.
func (e *Endpoint) State() State { return e.state }

// Addr returns the address of the other end.
func (e *Endpoint) Addr() netip.AddrPort { return e.peer }

// Answered reports whether the other end has confirmed something.
func (e *Endpoint) Answered() bool { return e.answered }

// Unconfirmed returns how many reliable packages are in flight or waiting.
func (e *Endpoint) Unconfirmed() int { return e.sender.InFlight(0) + e.backlog.Len() }

// Stats returns the counters.
func (e *Endpoint) Stats() Stats {
	c := &e.stats
	s := Stats{
		In: c.In, Malformed: c.Malformed, Confirmations: c.Confirmations, Confirmable: c.Confirmable, Loose: c.Loose, OutOfState: c.OutOfState,
		LooseOver: c.LooseOver, LooseUnread: c.LooseUnread, LooseUnsent: uint64(c.LooseUnsent), Out: e.out, Beats: uint64(c.Beats),
		Reliable: reliable.Stats{SendStats: e.sender.Stats(), ReceiveStats: e.receiver.Stats()},
	}
	if e.probes != nil {
		s.Probes = e.probes.sent
	}
	if e.rare != nil {
		s.Probes += e.survey.count
	}
	return s
}

// NextTimeout returns when to call HandleTimeout next. It is valid once PollTransmit has returned false.
func (e *Endpoint) NextTimeout() (time.Time, bool) {
	switch e.state {
	case StateClosed:
		return time.Time{}, false
	case StateClosing:
		return e.closing.next, true
	}
	silence := e.rules.Timeout
	if e.mayBeat() {
		silence = min(silence, e.rules.KeepAlive)
	}
	next := e.heard.Add(silence)
	sooner := func(at time.Time, ok bool) {
		if ok && at.Before(next) {
			next = at
		}
	}
	if since, ok := e.oldestHole(); ok {
		sooner(since.Add(e.rules.HoleTimeout), true)
	}
	if e.rare != nil {
		sooner(e.queue.nextTimeout())
		sooner(e.unheardAt, e.isUnheard())
	}
	if e.backlog.count > 0 && e.backlog.slow > 0 {
		sooner(e.backlog.lookAt, true)
	}
	if e.probes != nil && e.probes.echoAt > 0 {
		sooner(e.shared.born.Add(e.probes.echoAt-1), true)
	}
	if !e.blocked { // then only a datagram of the peer lets anything out
		sooner(e.sender.NextTimeout())
		sooner(e.receiver.NextTimeout())
	}
	return next, true
}

// HandleTimeout does everything that is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	switch e.state {
	case StateClosed:
		return
	case StateClosing:
		e.closingTimeout(now)
		return
	}
	if p := e.probes; p != nil && p.echoAt > 0 && e.probeTime() >= p.echoAt {
		if p.echoAt = 0; e.state == StateOpen {
			_ = e.sendCopy(now, Unreliable, true, p.echo) // the queue of unreliable packages takes all
		}
	}
	if now.Sub(e.heard) >= e.rules.Timeout && !e.wasAway(now) {
		e.fail(Close{Reason: ReasonSilent})
		return
	}
	if since, ok := e.oldestHole(); ok && now.Sub(since) >= e.rules.HoleTimeout {
		e.fail(Close{Reason: ReasonHole})
		return
	}
	if e.isUnheard() && !now.Before(e.unheardAt) {
		e.end(Close{Reason: ReasonUnheard}, false)
		return
	}
	if e.isTooSlow(now) {
		e.fail(Close{Reason: ReasonSlow})
		return
	}
	if e.mayBeat() && now.Sub(e.heard) >= e.rules.KeepAlive {
		e.beat(now)
	}
	e.flush(now, false)
	oldest := e.sender.Oldest()
	e.sender.HandleTimeout(now)
	e.receiver.HandleTimeout(now)
	e.afterEngine(now)
	if e.state == StateClosed {
		e.was.Unsure = min(e.was.Unsure, oldest) // the engine has let go of what it gave up
	}
}

// oldestHole returns since when a package is missing that we would have taken.
func (e *Endpoint) oldestHole() (time.Time, bool) {
	since, ok := e.receiver.OldestHole()
	if ok && e.rare != nil && since.Before(e.refusedAt) {
		since = e.refusedAt
	}
	return since, ok
}

// wasAway reports whether it is we who were away: a peer that was not asked whether it lives, when that was due, is asked
// now. A machine that slept for 10 s would else take everybody for gone whose datagrams it has not read yet.
func (e *Endpoint) wasAway(now time.Time) bool {
	if !e.mayBeat() || e.rules.KeepAlive >= e.rules.Timeout {
		return false
	}
	e.heard = now.Add(e.rules.KeepAlive - e.rules.Timeout) // it has as long to answer as it may be silent before
	return true
}

// PollTransmit writes the next datagram into buf, which has at least MaxDatagram bytes, and returns its address.
func (e *Endpoint) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if e.blocked = !e.mayTransmit(); e.blocked {
		return 0, netip.AddrPort{}, false
	}
	n, ok := e.nextReliable(buf)
	if !ok {
		if n, ok = e.nextDatagram(buf); !ok {
			e.ride = false
			return 0, netip.AddrPort{}, false
		}
		e.beside(n)
	}
	e.out++
	if !e.allowance.Proven() {
		e.credit -= int32(n)
	}
	return n, e.peer, true
}

// mayTransmit reports whether one more datagram may go to the peer: "An unproven address
// that is neither loopback nor private gets at most three times its own bytes plus 8 KiB."
func (e *Endpoint) mayTransmit() bool {
	if e.allowance.Proven() || e.credit >= MaxDatagram {
		return true
	}
	if e.allowance.MaySend(MaxDatagram) {
		e.credit += MaxDatagram
		return true
	}
	return false
}

// nextReliable writes the next reliable package into buf.
func (e *Endpoint) nextReliable(buf []byte) (int, bool) {
	if e.state != StateOpen && e.state != StateLeaving && e.state != StateJoining {
		return 0, false
	}
	t, ok := e.sender.Poll(e.now)
	if !ok {
		return 0, false
	}
	b := appendHeader(buf[:0], uint8(t.Tag), uint32(t.Number)&MaxID)
	e.ride = true
	return len(append(b, t.Packet...)), true
}

// nextDatagram writes the next datagram into buf that is no reliable package. Packages go first: confirmations have
// been gathered, and may as well be of what these answer. "Confirmations are gathered for
// 20 ms"; in the last quarter of that time they go along with a package to the same peer, in the
// same system call, and at once if no other has gone out for 20 ms: so they are hardly more than if they were gathered, and
// who answers a package at once need not wake up again for its confirmation.
func (e *Endpoint) nextDatagram(buf []byte) (int, bool) {
	if e.probes != nil && e.probes.again != nil && !(e.looseOut.Len() > 0 && e.probesBehind()) {
		return e.probes.transmit(e.probeTime(), buf), true
	}
	if n, ok := e.nextSurvey(buf); ok {
		return n, true
	}
	if e.rare != nil && e.again > 0 {
		e.again--
		if e.state == StateJoining {
			return copy(buf, e.first), true
		}
	}
	if e.rare != nil && e.parting != nil {
		n := copy(buf, e.parting)
		e.shared.buffers.Give(e.parting)
		e.parting = nil
		return n, true
	}
	if e.looseOut.Len() > 0 {
		e.ride = true
		return e.transmitLoose(buf), true
	}
	if e.state == StateClosed {
		return 0, false
	}
	early := time.Duration(0)
	if e.ride {
		early = e.rules.ConfirmAfter / 4
		if since := e.shared.ms(e.now) - e.confirmedMS; since > e.rules.rideAfterMS {
			early = e.rules.ConfirmAfter
		}
	}
	if e.prompt {
		e.prompt, early = false, e.rules.ConfirmAfter
	}
	return e.confirm(buf, early)
}

// transmitLoose writes the oldest unreliable package, which takes its id now.
func (e *Endpoint) transmitLoose(buf []byte) int {
	o := e.looseOut.Pop()
	e.looseOut.Trim()
	e.looseHeld -= int32(o.held())
	b := appendHeader(buf[:0], o.flags, e.nextLoose)
	e.nextLoose = (e.nextLoose + 1) & MaxID
	n := len(append(b, o.bytes()...))
	e.release(o)
	return n
}

// confirm writes a confirmation, if one is due that early.
func (e *Endpoint) confirm(buf []byte, early time.Duration) (int, bool) {
	numbers := e.shared.numbers[:]
	n := e.receiver.Acks(e.now.Add(early), numbers)
	if n == 0 {
		return 0, false
	}
	e.paid, e.confirmedMS = true, e.shared.ms(e.now)
	b := appendHeader(buf[:0], flagControl, 0)
	for _, number := range numbers[:n] {
		b = AppendID(b, uint32(number)&MaxID)
	}
	return len(b), true
}

func (e *Endpoint) release(o outgoing) {
	if o.payload != nil {
		e.shared.buffers.Release(o.payload)
	}
}
