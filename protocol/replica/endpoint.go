package replica

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/clocksync"
	"parley/internal/reliable"
	"parley/internal/serial"
)

var (
	// ErrClosed: the connection has ended or is ending.
	ErrClosed = errors.New("replica: connection closed")
	// ErrNotConnected: the handshake is not done yet.
	ErrNotConnected = errors.New("replica: not connected yet")
	// ErrWindowFull: too much is unacknowledged or queued; try again later.
	ErrWindowFull = reliable.ErrWindowFull
	// ErrMessageSize: the message is larger than this peer and these flags allow.
	ErrMessageSize = errors.New("replica: message too large")
	// ErrName: the name is too long, not UTF-8, or one of ours.
	ErrName = errors.New("replica: bad message name")
	// ErrFlags: a message cannot be ordered without being reliable.
	ErrFlags = errors.New("replica: ordered needs reliable")
)

// State is where a connection stands.
type State uint8

const (
	// StateConnecting: a client has asked and got no answer yet.
	StateConnecting State = iota + 1
	// StateAccepted: a client has the accept and repeats its ack until the
	// server's first sync.init.
	StateAccepted
	// StateOpen: both sides know each other.
	StateOpen
	// StateClosing: our disconnect is on its way.
	StateClosing
	// StateClosed: it is over.
	StateClosed
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"unset", "connecting", "accepted", "open", "closing", "closed"}[min(s, StateClosed)]
}

// Endpoint is one side of one connection: a pure state machine. Call its methods
// in this order: Handle* → PollEvent until false → PollTransmit until false →
// sleep until NextTimeout.
type Endpoint struct {
	cfg   *Config
	side  Side // which we are
	peer  netip.AddrPort
	state State
	// extended: both sides set flag bit 7, so ordered packets carry links.
	extended  bool
	announced bool // EventConnected was given
	talked    bool // something was sent by the application
	born      time.Time
	now       time.Time // of the newest call, for PollTransmit

	// The clock: a server's own, or the server's as a client reads it.
	clockStart uint64 // µs at born
	remote     clocksync.FourTime

	sender   reliable.Sender
	receiver reliable.Receiver
	parts    reliable.Assembler
	near     uint64 // newest accepted number of the peer, to unwrap against
	rand     *rand.Rand
	buffers  *reliable.Buffers
	outgoing waitingMessages // ordered messages on their way into the window

	heard     time.Time // newest valid packet
	handshake handshake
	sync      syncState
	link      linkState
	seen      seen  // client
	view      *view // server, once something is replicated
	leaving   leaving
	closing   closing
	malformed malformed

	control    [][]byte // sync, ack and disconnect packets to go out
	loose      [][]byte // unreliable messages to go out
	looseBytes int
	events     []Event

	stats Stats
}

// handshake is a client's way in.
type handshake struct {
	next  time.Time // when to repeat
	delay time.Duration
	sent  time.Time // of the newest init
}

type malformed struct {
	since time.Time
	count int
}

// Stats counts the fate of each packet of a connection.
type Stats struct {
	In         uint64 // packets for this connection
	Malformed  uint64 // not a packet
	OutOfTime  uint64 // with a time that is not this connection's: forged or left over
	OutOfState uint64 // valid, but not now
	Out        uint64 // packets put on the wire
	LooseLost  uint64 // unreliable messages dropped because the socket was behind
	Reliable   reliable.Stats
}

// Shared is what the endpoints of one loop share. Its zero value is ready, but
// for Rand.
type Shared struct {
	Buffers reliable.Buffers
	Rand    *rand.Rand
	Partial *reliable.Budget
}

// NewClient returns a client that begins to connect to a server.
func NewClient(now time.Time, server netip.AddrPort, c Config, s *Shared) *Endpoint {
	e := newEndpoint(now, FromClient, server, c.fill(), s)
	e.state = StateConnecting
	e.handshake.delay = initRepeat
	e.sendInit(now)
	return e
}

// newServer returns the server's side of a connection whose address is proven.
func newServer(now time.Time, client netip.AddrPort, c *Config, s *Shared, extended bool, clockNow, next uint64) *Endpoint {
	e := newEndpoint(now, FromServer, client, c, s)
	e.state = StateOpen
	e.clockStart = clockNow
	e.open(now, extended, next, 1)
	e.sync.next = now.Add(c.SyncInterval)
	e.events = append(e.events, Event{Kind: EventConnected})
	return e
}

func newEndpoint(now time.Time, side Side, peer netip.AddrPort, c *Config, s *Shared) *Endpoint {
	if s.Partial == nil {
		s.Partial = reliable.NewBudget(0)
	}
	return &Endpoint{
		cfg: c, side: side, peer: admission.Canon(peer), born: now, now: now, heard: now, rand: s.Rand, buffers: &s.Buffers,
		parts: reliable.NewAssembler(now, &reliable.AssemblyConfig{MaxMessage: c.MaxMessage + messageOverhead + MaxNameBytes}, s.Partial),
	}
}

// open starts the engine: our next number, and the peer's first.
func (e *Endpoint) open(now time.Time, extended bool, next, first uint64) {
	e.extended = extended
	e.sender = reliable.NewSender(now, next, e.cfg.send, e.buffers, e.rand)
	e.receiver = reliable.NewReceiver(now, first, e.cfg.receive(extended), e.buffers)
	e.near = first - 1
}

// State returns where the connection stands.
func (e *Endpoint) State() State { return e.state }

// Peer returns the peer's address.
func (e *Endpoint) Peer() netip.AddrPort { return e.peer }

// Extended reports whether the peer is one of ours.
func (e *Endpoint) Extended() bool { return e.extended }

// RTT returns the smoothed round trip, 0 while none is known.
func (e *Endpoint) RTT() time.Duration { return e.sender.RTT() }

// ServerTime returns the connection's clock in µs: the server's own, or as a
// client knows it.
func (e *Endpoint) ServerTime(now time.Time) uint64 {
	if e.side == FromServer {
		return e.clockStart + uint64(now.Sub(e.born).Microseconds())
	}
	return e.remote.Remote(now)
}

// Stats returns the counters.
func (e *Endpoint) Stats() Stats {
	s := e.stats
	s.Reliable = reliable.Stats{SendStats: e.sender.Stats(), ReceiveStats: e.receiver.Stats()}
	return s
}

// inTime reports whether a peer's time is near the connection's clock.
func (e *Endpoint) inTime(now time.Time, t uint64) bool {
	d := int64(t - e.ServerTime(now))
	return d >= -clockSlack.Microseconds() && d <= clockSlack.Microseconds()
}

func (e *Endpoint) unwrap(seq uint16) uint64 { return serial.Bits16.Unwrap(e.near, uint32(seq)) }

// NextTimeout returns when HandleTimeout is to be called next.
func (e *Endpoint) NextTimeout() (time.Time, bool) {
	if e.state == StateClosed {
		return time.Time{}, false
	}
	next := e.heard.Add(e.cfg.Timeout)
	if e.state == StateConnecting {
		next = e.handshake.next
	}
	for _, at := range [...]time.Time{e.handshake.next, e.sync.next, e.sync.deadline, e.closing.next, e.leaving.at} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	if e.state == StateAccepted || e.state == StateOpen { // as HandleTimeout does, or it would be due for ever
		if at, ok := e.sender.NextTimeout(); ok && at.Before(next) {
			next = at
		}
		if at, ok := e.receiver.NextTimeout(); ok && at.Before(next) {
			next = at
		}
	}
	return next, true
}

// HandleTimeout does what is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	if e.state == StateClosed {
		return
	}
	// A client that has no answer yet asks until its caller loses patience.
	if e.state != StateConnecting && now.Sub(e.heard) >= e.cfg.Timeout {
		e.end(Close{Reason: ReasonTimeout})
		return
	}
	e.handshakeTimeout(now)
	e.syncTimeout(now)
	e.closeTimeout(now)
	if e.state == StateAccepted || e.state == StateOpen {
		e.receiver.HandleTimeout(now)
		e.sender.HandleTimeout(now)
		e.afterEngine(now)
	}
}

// afterEngine looks at what the engine decided.
func (e *Endpoint) afterEngine(now time.Time) {
	if e.sender.Failed() == reliable.ReasonUnacknowledged {
		e.end(Close{Reason: ReasonUnacknowledged})
		return
	}
	for l, ok := e.sender.PollLost(); ok; l, ok = e.sender.PollLost() {
		if e.view != nil && l.Tag > 0 {
			e.view.settled(int(l.Tag)-1, false)
		}
	}
	e.pumpLinks(now)
	e.pump(now)
	e.leave(now)
}

// PollTransmit writes the next packet into buf and says where it goes.
func (e *Endpoint) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	var acked [1]uint64
	if e.state >= StateAccepted && e.state <= StateClosing && e.receiver.Acks(e.now, acked[:]) > 0 {
		p := Packet{Kind: KindAck, Acked: uint16(acked[0])}
		return e.out(len(p.AppendTo(buf[:0])))
	}
	if n, ok := e.popInto(&e.control, buf); ok {
		return e.out(n)
	}
	if e.state != StateAccepted && e.state != StateOpen {
		return 0, netip.AddrPort{}, false
	}
	if t, ok := e.sender.Poll(e.now); ok {
		n := copy(buf, t.Packet)
		if t.Again {
			e.freshen(buf[:n])
		}
		return e.out(n)
	}
	if n, ok := e.popInto(&e.loose, buf); ok {
		e.looseBytes -= n
		return e.out(n)
	}
	return 0, netip.AddrPort{}, false
}

func (e *Endpoint) out(n int) (int, netip.AddrPort, bool) {
	e.stats.Out++
	return n, e.peer, true
}

// freshen writes the present time into a message that is resent so late that its
// own would count as forged.
func (e *Endpoint) freshen(b []byte) {
	const at = 4 // type, flags, sequence
	if Type(b[0]) != TypeMessage {
		return
	}
	now := e.ServerTime(e.now)
	if int64(now-binary.LittleEndian.Uint64(b[at:])) > clockSlack.Microseconds()/2 {
		binary.LittleEndian.PutUint64(b[at:], now)
	}
}

// popInto copies the first packet of a queue into buf and lets it go.
func (e *Endpoint) popInto(q *[][]byte, buf []byte) (int, bool) {
	if len(*q) == 0 {
		return 0, false
	}
	n := copy(buf, (*q)[0])
	e.buffers.Give((*q)[0])
	copy(*q, (*q)[1:])
	*q = (*q)[:len(*q)-1]
	return n, true
}

// put queues a packet in a lent buffer.
func (e *Endpoint) put(q *[][]byte, p *Packet) int {
	if len(*q) >= maxControl {
		return 0
	}
	b := p.AppendTo(e.buffers.Take(maxPacketBytes)[:0])
	*q = append(*q, b)
	return len(b)
}

// PollEvent returns the next thing that happened.
func (e *Endpoint) PollEvent() (Event, bool) {
	if len(e.events) > 0 && e.events[0].Kind != EventClosed {
		return e.popEvent(), true
	}
	if ev, ok := e.nextMessage(); ok {
		return ev, true
	}
	if len(e.events) > 0 {
		return e.popEvent(), true
	}
	return Event{}, false
}

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

func (e *Endpoint) popEvent() Event {
	ev := e.events[0]
	e.events = e.events[1:]
	if len(e.events) == 0 {
		e.events = nil
	}
	return ev
}
