package core

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/metric"
	"parley/internal/queue"
	"parley/internal/reliable"
	"parley/internal/serial"
	"parley/internal/wire"
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = errors.New("replica: connection closed")
	// ErrNotConnected means that the handshake is not done yet.
	ErrNotConnected = errors.New("replica: not connected yet")
	// ErrWindowFull means that too much is unacknowledged or queued. Try again later.
	ErrWindowFull = reliable.ErrWindowFull
	// ErrMessageSize means that the message is larger than the limit, or than a foreign
	// peer or the mode allows.
	ErrMessageSize = errors.New("replica: message too large")
	// ErrName means that the name is too long, not UTF-8, or reserved.
	ErrName = errors.New("replica: bad message name")
	// ErrFlags means that a message is ordered but not reliable.
	ErrFlags = errors.New("replica: ordered needs reliable")
)

// State is the state of a connection.
type State uint8

const (
	// StateConnecting is the state of a client that has asked and got no answer yet.
	StateConnecting State = iota + 1
	// StateAccepted is the state of a client that has received the accept. It repeats its
	// ack until the server's first sync.init arrives.
	StateAccepted
	// StateOpen is the state of an established connection.
	StateOpen
	// StateClosing is the state in which our disconnect is not acknowledged yet.
	StateClosing
	// StateClosed is the state of an ended connection.
	StateClosed
)

// String returns the state's name.
func (s State) String() string { return wire.NameOf(s, stateNames[:]) }

var stateNames = [...]string{"unset", "connecting", "accepted", "open", "closing", "closed"}

// Endpoint is one side of one connection: a pure state machine. Call its methods in this
// order: Handle* → PollEvent until false → PollTransmit until false → sleep until
// NextTimeout.
//
// Fields that each packet uses come first and lie together, and fields that few
// connections need are behind pointers: with thousands of connections, most time goes
// into reading their memory.
type Endpoint struct {
	cfg   *Config
	state State
	side  Side // which we are
	// extended: both sides set flag bit 7, so ordered packets carry links.
	extended  bool
	announced bool // EventConnected was given
	talked    bool // something was sent by the application
	broken    bool // an ordered message was lost: no later one is delivered
	guest     bool // server: it has not entered, so little of it may wait: see guestBytes
	bundles   bundling
	peer      netip.AddrPort
	now       time.Time     // of the newest call, for PollTransmit
	born      time.Time     // the next two fields count from here
	heard     time.Duration // newest valid packet
	syncAt    time.Duration // server: when the next sync.init is due; 0 is never

	// The clock of a server, µs at born. A client reads its server's: see clientSide.
	clockStart uint64
	near       uint64 // newest accepted number of the peer, to unwrap against

	buffers *reliable.Pool
	ending  *ending             // nil unless the connection is about to end
	parts   *reliable.Assembler // nil before the first message in parts
	client  *clientSide
	control queue.Fifo[control]
	events  []Event
	loose   queue.Packets // unreliable messages that wait for the socket
	stats   tally
	link    *linkState
	view    *view // server, once something is replicated

	receiver       reliable.Receiver
	malformedSince time.Duration // since born; these three make sender begin a cache line: see TestHotFieldsLieTogether
	malformed      int32
	wrote          uint32 // bytes, counted by the mux
	sender         reliable.Sender
	outgoing       waitingMessages // ordered messages on their way into the window

	sync   syncState
	store  *Store // server
	number uint32 // of a server's clock for the peer
	peeked uint32 // packets looked at behind a part that waits: see restHasCome
	shared *Shared
}

// clientSide is what only a client needs.
type clientSide struct {
	handshake handshake
	remote    serverClock
	seen      Values
	more      bool // messages wait outside: see offer
	passing   bool // our pass is not acknowledged yet
	linkDue   bool // link.init goes out when it is
}

// handshake is a client's way in.
type handshake struct {
	next  time.Time // when to repeat
	delay time.Duration
	sent  time.Time // of the newest init
	acked time.Time // when the accept came
}

// control is a packet of the connection itself that waits to go out: an init, an ack, or
// one of a clock. A disconnect, which may be longer, is written when it goes.
type control struct {
	n    uint8
	data [syncAckBytes]byte
}

// Stats counts the packets of a connection by their fate.
type Stats struct {
	In         uint64 // packets for this connection; a bundle counts as those in it
	Malformed  uint64 // of them, not valid packets
	OutOfTime  uint64 // of them, with a time or number far from this connection's: forged or old
	OutOfState uint64 // of them, valid, but not in this state
	Out        uint64 // packets sent
	LooseLost  uint64 // unreliable messages dropped because the socket was behind
	Reliable   EngineStats
}

// sums adds the counters of connections.
var sums = metric.NewAdder[Stats]()

// tally is those of Stats that the endpoint counts itself.
type tally struct {
	In, Out, Malformed, OutOfTime, OutOfState, LooseLost uint64
}

// Shared is what the endpoints of one loop share. Rand has to be set.
type Shared struct {
	buffers reliable.Pool
	Rand    *rand.Rand
	partial *reliable.Budget
}

// NewClient returns a client that begins to connect to a server.
func NewClient(now time.Time, server netip.AddrPort, c Config, s *Shared) *Endpoint {
	e := &Endpoint{client: new(clientSide)}
	e.begin(now, FromClient, server, c.fill(), s)
	e.state = StateConnecting
	e.client.handshake.delay = initRepeat
	e.sendInit(now)
	return e
}

// beginServer makes e the server's side of a connection whose address is proven.
func (e *Endpoint) beginServer(now time.Time, client netip.AddrPort, c *Config, s *Shared, extended bool, clockNow, next uint64) {
	e.begin(now, FromServer, client, c, s)
	e.state = StateOpen
	e.clockStart = clockNow
	e.open(now, extended, next, 1)
	e.syncAt = c.SyncInterval
	e.events = append(e.events, Event{Kind: EventConnected})
	e.tellBundles(now)
}

func (e *Endpoint) begin(now time.Time, side Side, peer netip.AddrPort, c *Config, s *Shared) {
	if s.partial == nil {
		s.partial = reliable.NewBudget(0)
	}
	e.cfg, e.side, e.peer, e.born, e.now = c, side, admission.Canon(peer), now, now
	e.shared, e.buffers = s, &s.buffers
}

// open starts the engine: our next number, and the peer's first.
func (e *Endpoint) open(now time.Time, extended bool, next, first uint64) {
	e.extended, e.bundles = extended, 0
	e.sender = reliable.NewSender(now, next, e.cfg.send, e.buffers, e.shared.Rand)
	e.receiver = reliable.NewReceiver(now, first, e.cfg.receive(extended), e.buffers)
	e.near = first - 1
}

// State returns the state of the connection.
func (e *Endpoint) State() State { return e.state }

// Peer returns the peer's address.
func (e *Endpoint) Peer() netip.AddrPort { return e.peer }

// Extended reports whether both sides use parley's extension of the protocol.
func (e *Endpoint) Extended() bool { return e.extended }

// RTT returns the smoothed round-trip time, 0 while it is unknown.
func (e *Endpoint) RTT() time.Duration { return e.sender.RTT() }

// ServerTime returns the connection's clock in µs. A server returns its own clock, a client
// its estimate of the server's.
func (e *Endpoint) ServerTime(now time.Time) uint64 {
	if e.side == FromServer {
		return e.clockStart + uint64(now.Sub(e.born).Microseconds())
	}
	return e.client.remote.Remote(now)
}

// Stats returns the counters.
func (e *Endpoint) Stats() Stats {
	c := &e.stats
	return Stats{
		In: c.In, Malformed: c.Malformed, OutOfTime: c.OutOfTime, OutOfState: c.OutOfState, Out: c.Out, LooseLost: c.LooseLost,
		Reliable: reliable.Stats{SendStats: e.sender.Stats(), ReceiveStats: e.receiver.Stats()},
	}
}

// inTime reports whether a peer's time is near the connection's clock.
func (e *Endpoint) inTime(now time.Time, t uint64) bool {
	return admission.InTime(t, e.ServerTime(now))
}

func (e *Endpoint) unwrap(seq uint16) uint64 { return serial.Bits16.Unwrap(e.near, uint32(seq)) }

// talking reports whether the connection is there and not about to end.
func (e *Endpoint) talking() bool { return e.state == StateAccepted || e.state == StateOpen }

// NextTimeout returns when to call HandleTimeout next.
func (e *Endpoint) NextTimeout() (time.Time, bool) {
	if e.state == StateClosed {
		return time.Time{}, false
	}
	talking, since := e.talking(), e.heard+e.cfg.Timeout
	if talking && e.syncAt != 0 {
		since = min(since, e.syncAt)
	}
	next := e.born.Add(since)
	if e.state == StateConnecting {
		next = e.client.handshake.next
	}
	sooner := func(at time.Time) {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	if e.ending != nil {
		sooner(e.ending.deadline)
		sooner(e.ending.leaveBy)
		sooner(e.ending.next)
	}
	if e.client != nil {
		sooner(e.client.handshake.next)
	}
	if !talking {
		return next, true
	}
	if e.view != nil && e.view.answer.slot != nil {
		sooner(e.view.answer.at)
	}
	if at, ok := e.sender.NextTimeout(); ok {
		sooner(at)
	}
	if at, ok := e.receiver.NextTimeout(); ok {
		sooner(at)
	}
	return next, true
}

// HandleTimeout does everything that is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	if e.state == StateClosed {
		return
	}
	// A client that has no answer yet asks until its caller loses patience.
	if e.state != StateConnecting && now.Sub(e.born)-e.heard >= e.cfg.Timeout {
		if e.state == StateClosing {
			e.end(e.ending.close)
		} else {
			e.end(Close{Reason: ReasonTimeout})
		}
		return
	}
	if e.client != nil {
		e.handshakeTimeout(now)
	}
	e.syncTimeout(now)
	e.closeTimeout(now)
	if e.talking() {
		e.receiver.HandleTimeout(now)
		e.sender.HandleTimeout(now)
		if e.view != nil {
			e.tellAnswer(now)
		}
		e.afterEngine(now)
	}
}

// afterEngine looks at what the engine decided, after acks and time.
func (e *Endpoint) afterEngine(now time.Time) {
	if e.sender.Failed() == reliable.ReasonUnacknowledged {
		e.end(Close{Reason: ReasonUnacknowledged})
		return
	}
	for l, ok := e.sender.PollLost(); ok; l, ok = e.sender.PollLost() {
		if e.view != nil && l.Tag > 0 {
			e.settled(l.Tag, false)
		}
	}
	if e.bundles&bundlesTold == 0 {
		e.tellBundles(now)
	}
	if e.link != nil {
		e.pumpLinks(now)
	}
	if e.outgoing.Len() > 0 {
		e.pump(now)
	}
	if e.ending != nil {
		e.leave(now)
	}
}

// PollTransmit writes the next packet into buf and returns its address. Packets of the
// clock come first, as they carry the time at which they are sent. Acks come last, as the
// socket can join an ack to a longer packet to the same address.
func (e *Endpoint) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if e.mayBundle() && e.state == StateOpen {
		return e.pollBundle(buf)
	}
	if e.control.Len() > 0 {
		c := e.control.First()
		n := copy(buf, c.data[:c.n])
		e.control.Pop()
		e.control.Trim()
		return e.out(n)
	}
	if e.talking() {
		if t, ok := e.sender.Poll(e.now); ok {
			n := copy(buf, t.Packet)
			e.finish(buf[:n], &t)
			e.stats.Out++ // the sender has counted its bytes
			return n, e.peer, true
		}
		if n, ok := e.loose.MoveTo(buf, e.buffers); ok {
			return e.out(n)
		}
	}
	if e.ending != nil && e.ending.due {
		return e.out(e.writeDisconnect(buf))
	}
	var acked [1]uint64
	if e.state >= StateAccepted && e.state <= StateClosing && e.receiver.Acks(e.now, acked[:]) > 0 {
		return e.out(len(appendAck(buf[:0], uint16(acked[0]))))
	}
	return 0, netip.AddrPort{}, false
}

// finish writes into a packet of the sender what is its own in this transmission.
func (e *Endpoint) finish(b []byte, t *reliable.Transmission) {
	switch {
	case typeOf(b) == TypeReplicate:
		e.address(b, t.Number)
	case t.Again:
		e.freshen(b)
	}
}

// out counts a packet that is not the sender's.
func (e *Endpoint) out(n int) (int, netip.AddrPort, bool) {
	e.stats.Out++
	e.sender.Beside(e.now, n)
	return n, e.peer, true
}

// freshen writes the present time into a message that is resent so late that its
// own would count as forged.
func (e *Endpoint) freshen(b []byte) {
	if Type(b[0]) != TypeMessage {
		return
	}
	now := e.ServerTime(e.now)
	if int64(now-binary.LittleEndian.Uint64(b[timeAt:])) > admission.ClockSlack.Microseconds()/2 {
		binary.LittleEndian.PutUint64(b[timeAt:], now)
	}
}

// put queues a packet of the connection itself.
func (e *Endpoint) put(p *Packet) {
	if e.control.Len() >= maxControl {
		return
	}
	var c control
	c.n = uint8(len(p.AppendTo(c.data[:0])))
	e.control.Push(c)
}

// PollEvent returns the next event.
func (e *Endpoint) PollEvent() (ev Event, ok bool) {
	ok = e.pollEvent(&ev)
	return ev, ok
}

// pollEvent is PollEvent into an event that is there, and is zero.
func (e *Endpoint) pollEvent(ev *Event) bool {
	if len(e.events) > 0 && e.events[0].Kind != EventClosed {
		e.popEvent(ev)
		return true
	}
	if e.nextMessage(ev) {
		return true
	}
	if len(e.events) > 0 {
		e.popEvent(ev)
		return true
	}
	return false
}

// hasEvents reports whether PollEvent may have something.
func (e *Endpoint) hasEvents() bool { return len(e.events) > 0 || e.receiver.HasNext() }

// note queues an event of which there may be many: see maxEvents.
func (e *Endpoint) note(ev Event) {
	if last := len(e.events) - 1; last >= 0 && ev.Kind == EventReplicated && e.events[last].Kind == EventReplicated {
		e.events[last] = ev
		return
	}
	if len(e.events) < maxEvents {
		e.events = append(e.events, ev)
	}
}

func (e *Endpoint) popEvent(ev *Event) {
	*ev = e.events[0]
	e.events[0] = Event{}
	switch {
	case len(e.events) > 1:
		e.events = e.events[1:]
	case e.client != nil:
		e.events = e.events[:0] // a client has one with each tick
	default:
		e.events = nil
	}
}
