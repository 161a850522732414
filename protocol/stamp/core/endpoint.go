package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/clocksync"
	"parley/internal/metric"
	"parley/internal/queue"
	"parley/internal/reliable"
	"parley/internal/wire"
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = errors.New("stamp: connection closed")
	// ErrClient means that a client tried to send an entity packet. Only a server sends
	// them.
	ErrClient = errors.New("stamp: a client sends no entities")
	// ErrWindowFull means that too much is unacknowledged or queued. Try again later.
	ErrWindowFull = reliable.ErrWindowFull
	// ErrDataSize means that the data does not have 1 to MaxData bytes. An empty entity
	// packet would not be delivered.
	ErrDataSize = errors.New("stamp: data is empty or too large")
	// ErrMode means that there is no such mode.
	ErrMode = errors.New("stamp: no such mode")
)

// State is the state of a connection.
type State uint8

const (
	// StateConnecting is the state of a client that has asked and got no answer yet.
	StateConnecting State = iota + 1
	// StateAccepted is the state of a client that has received the accept. It repeats its
	// ack until the server's first entity packet arrives.
	StateAccepted
	// StateOpen is the state of an established connection.
	StateOpen
	// StateClosing is the state in which our disconnect is not acknowledged yet.
	StateClosing
	// StateClosed is the state of an ended connection.
	StateClosed
)

var stateNames = [...]string{"unset", "connecting", "accepted", "open", "closing", "closed"}

// String returns the state's name.
func (s State) String() string { return wire.NameOf(s, stateNames[:]) }

// Endpoint is one side of one connection: a pure state machine. Call its methods
// in this order: Handle* → PollEvent until false → PollTransmit until false →
// sleep until NextTimeout.
type Endpoint struct {
	// Fields that each packet uses lie together at the front: with thousands of connections,
	// none of them is in a cache.
	cfg      *Config
	buffers  *reliable.Pool
	side     Side // which we are
	state    State
	announce bool // EventConnected is due
	heeds    bool // at a server: the client has confirmed an entity packet
	last     bool // EventClosed is due
	peer     netip.AddrPort
	born     time.Time
	now      time.Time     // of the newest call, for PollTransmit
	heard    time.Time     // newest valid packet
	control  queue.Packets // acks of accept and disconnect, init and disconnect
	stats    tally

	// For a server, which sends entity packets and gets acks.
	loose       queue.Packets // unreliable packets that wait for the socket
	clockStart  uint64        // µs of the connection's clock at born
	nextBeat    time.Time     // when an empty packet is due
	leaving     leaving
	sender      reliable.Sender
	challenge   challenge
	reportsOpen int           // packets of SendReport whose fate has not been reported yet
	unheard     int           // bytes of SendReport since the client last confirmed something
	ordered     queue.Packets // entity packets that wait for the one in flight

	told        queue.Fifo[told]
	*clientSide // nil at a server, which has thousands of endpoints

	rand      *rand.Rand
	closing   closing
	malformed malformed
}

// clientSide is what only a client needs: it receives entity packets and acknowledges.
type clientSide struct {
	clock     clocksync.OneWay
	receiver  reliable.Receiver
	near      uint64 // newest number taken from the server, to unwrap against
	handshake handshake
}

// told is an event of a single packet.
type told struct {
	number uint64
	tag    uint32
	kind   EventKind
}

// malformed counts what is no packet but has a time of our clock.
type malformed struct {
	since time.Time
	count int
}

// Stats counts the packets of a connection by their fate.
type Stats struct {
	In         uint64 // datagrams for this connection: the sum of the five below
	Taken      uint64 // packets that were handled, or given to the engine
	Malformed  uint64 // not valid packets
	OutOfTime  uint64 // packets whose time is far from this connection's: forged or old
	OutOfRange uint64 // disconnects whose number is far from this connection's
	OutOfState uint64 // valid, but not in this state

	Out        uint64 // packets sent
	LooseLost  uint64 // unreliable packets dropped because the socket was behind
	ControlOut uint64 // acks and disconnects dropped because the socket was behind
	Untold     uint64 // skips that were not reported because nobody polled events
	Hushed     uint64 // packets that Send refused because the client confirms nothing
	Beats      uint64 // empty packets sent to check that the peer is alive
	Reliable   EngineStats
}

// sums adds the counters of connections.
var sums = metric.NewAdder[Stats]()

// tally is those of Stats that the endpoint counts itself.
type tally struct {
	Out, In, Taken                               uint64 // what nearly each packet counts
	Malformed, OutOfTime, OutOfRange, OutOfState uint64
	LooseLost, ControlOut, Untold, Hushed, Beats uint64
}

// Check returns an error if the counters do not add up.
func (s *Stats) Check() error {
	if sum := s.Taken + s.Malformed + s.OutOfTime + s.OutOfRange + s.OutOfState; sum != s.In {
		return fmt.Errorf("stamp: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

// Shared is what the endpoints of one loop share. Its zero value is usable, except for
// Rand.
type Shared struct {
	buffers reliable.Pool
	Rand    *rand.Rand
}

// NewClient returns a client that begins to connect to a server.
func NewClient(now time.Time, server netip.AddrPort, c Config, s *Shared) *Endpoint {
	e := &Endpoint{clientSide: new(clientSide)}
	e.init(now, FromClient, server, c.fill(), s)
	e.state = StateConnecting
	e.begin(now)
	return e
}

// initServer makes e the server's side of a connection whose address is proven by an ack of
// the accept, which came with a client's time. The client repeats its ack until it gets
// an entity packet, so there is one at once.
func (e *Endpoint) initServer(now time.Time, client netip.AddrPort, c *Config, s *Shared, clockNow, ackTime uint64) {
	e.init(now, FromServer, client, c, s)
	e.state = StateOpen
	e.clockStart = clockNow
	e.sender = reliable.NewSender(now, firstEntity, c.send, e.buffers, e.rand)
	e.measure(now, ackTime)
	e.announce = true
	e.beat(now)
}

func (e *Endpoint) init(now time.Time, side Side, peer netip.AddrPort, c *Config, s *Shared) {
	e.cfg, e.rand, e.buffers = c, s.Rand, &s.buffers
	e.side, e.peer, e.born, e.now, e.heard = side, admission.Canon(peer), now, now, now
}

// State returns the state of the connection.
func (e *Endpoint) State() State { return e.state }

// Peer returns the peer's address.
func (e *Endpoint) Peer() netip.AddrPort { return e.peer }

// RTT returns the round-trip time, 0 while it is unknown. A server returns the smoothed
// time, a client the shortest recent one.
func (e *Endpoint) RTT() time.Duration {
	if e.side == FromServer {
		return e.sender.RTT()
	}
	return e.clock.RTT()
}

// Rate returns a server's estimate of how many bytes a second the path carries. A game uses
// Rate and Pressure to decide how much to send.
func (e *Endpoint) Rate() int64 {
	if e.side != FromServer {
		return 0
	}
	return e.sender.Rate()
}

// Pressure returns how much was given to Send and still waits. See Rate.
func (e *Endpoint) Pressure() Pressure {
	if e.side != FromServer {
		return Pressure{}
	}
	p := e.sender.Pressure()
	p.Packets += e.ordered.Len()
	p.Bytes += e.ordered.Held()
	return p
}

// ServerTime returns the connection's clock in µs. A server returns its own clock, a client
// its estimate of the server's. A client has no estimate before it is connected.
func (e *Endpoint) ServerTime(now time.Time) uint64 {
	if e.side == FromServer {
		return e.clockStart + uint64(now.Sub(e.born).Microseconds())
	}
	return e.clock.Remote(now)
}

// ClockError returns the greatest possible error of a client's ServerTime.
func (e *Endpoint) ClockError(now time.Time) time.Duration {
	if e.side == FromServer {
		return 0
	}
	return e.clock.ErrorBound(now)
}

// Stats returns the counters.
func (e *Endpoint) Stats() Stats {
	c := &e.stats
	s := Stats{
		In: c.In, Taken: c.Taken, Malformed: c.Malformed, OutOfTime: c.OutOfTime, OutOfRange: c.OutOfRange, OutOfState: c.OutOfState,
		Out: c.Out, LooseLost: c.LooseLost, ControlOut: c.ControlOut, Untold: c.Untold, Hushed: c.Hushed, Beats: c.Beats,
		Reliable: reliable.Stats{SendStats: e.sender.Stats()},
	}
	if e.clientSide != nil {
		s.Reliable.ReceiveStats = e.receiver.Stats()
	}
	return s
}

// inTime reports whether a peer's time is near the connection's clock.
func (e *Endpoint) inTime(now time.Time, t uint64) bool {
	return (e.side == FromServer || e.clock.Synced()) && admission.InTime(t, e.ServerTime(now))
}

// NextTimeout returns when to call HandleTimeout next.
func (e *Endpoint) NextTimeout() (time.Time, bool) {
	switch e.state {
	case StateClosed:
		return time.Time{}, false
	case StateClosing:
		return e.closing.next, true
	}
	next := e.heard.Add(e.cfg.Timeout)
	sooner := func(at time.Time, ok bool) {
		if ok && at.Before(next) {
			next = at
		}
	}
	if e.side == FromServer {
		sooner(e.nextBeat, true)
		sooner(e.challenge.deadline, e.challenge.pending())
		sooner(e.leaving.until, e.leaving.pending())
		sooner(e.sender.NextTimeout())
		return next, true
	}
	sooner(e.handshake.next, e.state < StateOpen)
	if e.state > StateConnecting {
		sooner(e.receiver.NextTimeout())
	}
	return next, true
}

// HandleTimeout does everything that is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	switch {
	case e.state == StateClosed:
	case e.state == StateClosing:
		e.closeTimeout(now)
	case now.Sub(e.heard) >= e.cfg.Timeout:
		e.end(Close{Reason: ReasonTimeout})
	case e.side == FromServer:
		e.serverTimeout(now)
	default:
		e.handshakeTimeout(now)
		if e.state > StateConnecting {
			e.receiver.HandleTimeout(now)
		}
	}
}

func (e *Endpoint) serverTimeout(now time.Time) {
	if e.challenge.pending() && !now.Before(e.challenge.deadline) {
		e.end(e.challenge.verdict)
		return
	}
	e.sender.HandleTimeout(now)
	if !now.Before(e.nextBeat) {
		e.beat(now)
	}
	e.afterEngine(now)
}

// PollTransmit writes the next packet into buf, which has at least MaxPacket bytes, and
// returns its address.
func (e *Endpoint) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	n, ok := e.nextPacket(buf)
	if !ok {
		return 0, netip.AddrPort{}, false
	}
	// "Every packet carries the sender's time": that of this transmission, so that the
	// receiver's clock is as good as the path. A resend keeps its number only.
	binary.LittleEndian.PutUint64(buf[atTimestamp:], e.ServerTime(e.now))
	e.stats.Out++
	return n, e.peer, true
}

// nextPacket writes the next packet into buf, but for its time.
func (e *Endpoint) nextPacket(buf []byte) (int, bool) {
	if e.side == FromClient && e.state > StateConnecting && e.state < StateClosed {
		var acked [1]uint64
		if e.receiver.Acks(e.now, acked[:]) > 0 {
			p := Packet{Kind: KindAck, Sequence: uint16(acked[0])}
			return len(p.AppendTo(FromClient, buf[:0])), true
		}
	}
	if n, ok := e.control.MoveTo(buf, e.buffers); ok {
		e.sender.Beside(e.now, n)
		return n, true
	}
	if e.side != FromServer || e.state != StateOpen {
		return 0, false
	}
	if t, ok := e.sender.Poll(e.now); ok {
		e.nextBeat = e.now.Add(e.cfg.KeepAlive)
		return copy(buf, t.Packet), true
	}
	n, ok := e.loose.MoveTo(buf, e.buffers)
	if ok {
		e.sender.Beside(e.now, n)
	}
	return n, ok
}

// PollEvent returns the next event. EventClosed comes when all earlier arrivals have been
// read, and is the last event.
func (e *Endpoint) PollEvent() (Event, bool) {
	if e.announce {
		e.announce = false
		return Event{Kind: EventConnected}, true
	}
	if e.told.Len() > 0 {
		t := e.told.Pop()
		e.told.Trim()
		if t.kind == EventAcked || t.kind == EventLost {
			e.reportsOpen--
		}
		return Event{Kind: t.kind, Number: t.number, Tag: t.tag}, true
	}
	if ev, ok := e.nextEntity(); ok {
		return ev, true
	}
	if e.last {
		e.last = false
		if e.side == FromClient {
			e.receiver.Close()
		}
		return Event{Kind: EventClosed, Close: e.closing.close}, true
	}
	return Event{}, false
}

// tell notes an event of a single packet.
func (e *Endpoint) tell(kind EventKind, number uint64, tag uint32) {
	if kind == EventSkipped && e.told.Len() >= maxTold {
		e.stats.Untold++
		return
	}
	e.told.Push(told{number, tag, kind})
}
