package core

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"parley/internal/metric"
	"parley/internal/queue"
	"parley/internal/wire"
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = errors.New("realm: connection closed")
	// ErrState means that the call is not valid in this state, such as a message of the
	// game before the player is in the game.
	ErrState = errors.New("realm: not possible in this state")
	// ErrQueueFull means that too much waits to be written. Try again later.
	ErrQueueFull = errors.New("realm: send queue full: try again later")
	// ErrKind means that this side does not send such messages, or that the endpoint sends
	// them by itself.
	ErrKind = errors.New("realm: this side does not send this message")
	// ErrTemporary means that an id is temporary where a lasting one is needed, or lasting
	// where a temporary one is needed.
	ErrTemporary = errors.New("realm: an id is in the wrong range: temporary ids are for clients")
	// ErrTooLarge means that a message has more than MaxMessage bytes.
	ErrTooLarge = errors.New("realm: message too large")
)

// State is the state of a connection.
type State uint8

const (
	// StateOpening is the state before the peer's first message: the client's version, or
	// the server's config.
	StateOpening State = iota + 1
	// StateLobby is the state in which the client may register and log in.
	StateLobby
	// StateEntering is the state at a server in which the log-in was accepted, and the game
	// decides whether the player enters.
	StateEntering
	// StatePlaying is the state in which the player is in the game.
	StatePlaying
	// StateClosing is the state in which our exit is being written.
	StateClosing
	// StateClosed is the state of an ended connection.
	StateClosed
)

var stateNames = [...]string{"unset", "opening", "lobby", "entering", "playing", "closing", "closed"}

// String returns the state's name.
func (s State) String() string { return wire.NameOf(s, stateNames[:]) }

// Endpoint is one side of one connection: a pure state machine. Call its methods in this
// order: HandleBytes or HandleTimeout → PollEvent until false → PollBytes until it has no
// more → sleep until NextTimeout.
type Endpoint struct {
	cfg    *Config
	shared *Shared
	side   Side // which we are
	state  State
	pinged bool // a ping was sent since something came
	last   bool // EventClosed is due
	peer   netip.AddrPort
	born   time.Time
	now    time.Time // of the newest call
	heard  time.Time // newest message; at a client, newest bytes

	in    Stream
	input []byte // bytes that PollEvent has not looked at
	out   outbox

	close     Close
	closeBy   time.Time // the exit may take until then
	server    serverSide
	client    *clientSide // nil at a server
	terrain   terrain
	announced queue.Fifo[Event] // events that come from calls, not from bytes

	stats Stats
}

// Stats counts the messages of a connection by their fate.
type Stats struct {
	In         uint64 // messages received: the sum of the five below
	Taken      uint64 // handled, or passed on to the game
	Refused    uint64 // with a tick too far from now: passed on as EventRefused
	ChatFast   uint64 // chat_send beyond the rate, or empty: dropped
	Bad        uint64 // broke the protocol, and ended the connection
	AfterClose uint64 // came after the end was decided

	Out         uint64 // messages that were queued
	OutBytes    uint64 // bytes that were polled
	Coalesced   uint64 // times that entity updates in the queue were merged
	Chunks      uint64 // chunks that were sent
	ChunkUnsaid uint64 // chunks that were asked for and will not be sent, as too many were asked for
}

// Check returns an error if the counters do not add up.
func (s *Stats) Check() error {
	if sum := s.Taken + s.Refused + s.ChatFast + s.Bad + s.AfterClose; sum != s.In {
		return fmt.Errorf("realm: %d messages came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

// sums adds the counters of connections.
var sums = metric.NewAdder[Stats]()

func newEndpoint(now time.Time, side Side, peer netip.AddrPort, c *Config, s *Shared) *Endpoint {
	e := &Endpoint{cfg: c, shared: s, side: side, state: StateOpening, peer: peer, born: now, now: now, heard: now}
	e.in.init(c.codec, fromBoth&^side, &s.buffers)
	if side == FromServer {
		e.in.limit(maxEarlyMessage)
	}
	return e
}

// State returns the state of the connection.
func (e *Endpoint) State() State { return e.state }

// Peer returns the peer's address.
func (e *Endpoint) Peer() netip.AddrPort { return e.peer }

// Config returns the configuration, in which every field has its value.
func (e *Endpoint) Config() Config { return *e.cfg }

// Codec returns the codec of the schema, for making messages.
func (e *Endpoint) Codec() *Codec { return e.cfg.codec }

// Stats returns the counters.
func (e *Endpoint) Stats() Stats { return e.stats }

// Queued returns how many bytes wait to be written, including the overhead of each message.
func (e *Endpoint) Queued() int { return e.out.held }

// Over returns the reason why the connection has ended, if it has. Events may still be
// waiting for PollEvent.
func (e *Endpoint) Over() (Close, bool) { return e.close, e.state == StateClosed }

// HandleBytes takes bytes of the stream. They may begin and end anywhere in a message, and
// must not change until PollEvent has returned false.
func (e *Endpoint) HandleBytes(now time.Time, b []byte) {
	e.now = now
	if e.state == StateClosed {
		return
	}
	if e.side == FromClient && len(b) > 0 {
		e.alive(now)
	}
	if len(e.input) > 0 {
		b = append(e.input[:len(e.input):len(e.input)], b...) // the caller did not poll
	}
	e.input = b
}

// HandleEnd tells the endpoint that the stream has ended: no more bytes come, and none can be
// sent.
func (e *Endpoint) HandleEnd(now time.Time, err error) {
	e.now = now
	c := Close{Reason: ReasonStream, Remote: true}
	if err != nil {
		c.Text = err.Error()
	}
	if e.state == StateClosing {
		c = e.close
	}
	e.end(c)
}

// alive notes that the peer is there.
func (e *Endpoint) alive(now time.Time) { e.heard, e.pinged = now, false }

// PollEvent returns the next event, and handles the messages that came. EventClosed comes
// when all earlier arrivals have been read, and is the last event.
func (e *Endpoint) PollEvent() (Event, bool) {
	for {
		if e.announced.Len() > 0 {
			ev := e.announced.Pop()
			e.announced.Trim()
			return ev, true
		}
		if e.last {
			e.last = false
			return Event{Kind: EventClosed, Close: e.close, Goodbye: e.close.goodbye()}, true
		}
		if len(e.input) == 0 || e.state == StateClosed {
			e.input = nil
			return Event{}, false
		}
		n, ok := e.in.Next(e.input, &e.shared.message)
		e.input = e.input[n:]
		if err := e.in.Err(); err != nil {
			e.input = nil
			e.count(&e.stats.Bad)
			e.fail(e.now, Close{Reason: ReasonProtocol, Exit: ExitNetworkError, Text: err.Error()})
			continue
		}
		if !ok {
			continue
		}
		if ev, tell := e.receive(e.now, &e.shared.message); tell {
			return ev, true
		}
	}
}

// count notes the fate of a message.
func (e *Endpoint) count(fate *uint64) {
	e.stats.In++
	*fate++
}

// receive does what a message asks for, and returns what is to be told.
func (e *Endpoint) receive(now time.Time, m *Message) (Event, bool) {
	if e.state >= StateClosing && m.Kind != KindExit {
		e.count(&e.stats.AfterClose)
		return Event{}, false
	}
	if e.side == FromServer {
		e.alive(now)
		return e.serve(now, m)
	}
	return e.observe(now, m)
}

// tell returns an event of a message, with its tick.
func (e *Endpoint) tell(now time.Time, kind EventKind, m *Message) (Event, bool) {
	ev := Event{Kind: kind, Message: m}
	if m.Kind.HasTick() {
		ev.Tick = e.unwire(now, m.Tick)
	}
	return ev, true
}

// common does what ping, pong and exit ask for, which both sides send.
func (e *Endpoint) common(now time.Time, m *Message) (done bool) {
	switch m.Kind {
	case KindPing:
		e.send(now, &Message{Kind: KindPong})
	case KindPong:
		if e.server.conn != nil {
			e.server.conn.ponged(now)
		}
	case KindExit:
		e.leave(ExitCode(m.Code))
	default:
		return false
	}
	e.count(&e.stats.Taken)
	return true
}

// NextTimeout returns when to call HandleTimeout next.
func (e *Endpoint) NextTimeout() (time.Time, bool) {
	switch e.state {
	case StateClosed:
		return time.Time{}, false
	case StateClosing:
		return e.closeBy, true
	}
	next := e.heard.Add(e.cfg.Timeout)
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if !e.pinged && e.state != StateOpening {
		sooner(e.heard.Add(e.cfg.PingAfter))
	}
	if e.side == FromServer {
		switch {
		case e.state == StateOpening:
			sooner(e.born.Add(e.cfg.VersionWithin))
		case e.state < StatePlaying:
			sooner(e.born.Add(e.cfg.LoginWithin))
		case e.terrain.wanted.Len() > 0 && e.sendsTerrain() && e.out.held < roomBytes:
			sooner(e.terrain.next(e.cfg.TerrainRate))
		}
		if until := e.server.conn.probe.until; !until.IsZero() {
			sooner(until)
		}
	}
	return next, true
}

// HandleTimeout does everything that is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	switch {
	case e.state == StateClosed:
		return
	case e.state == StateClosing:
		if !now.Before(e.closeBy) {
			e.end(e.close)
		}
		return
	case e.side == FromServer && e.late(now):
		e.fail(now, Close{Reason: ReasonSlow, Exit: ExitNetworkError})
	case now.Sub(e.heard) >= e.cfg.Timeout:
		// "10 s: exit 3 and close"
		e.fail(now, Close{Reason: ReasonTimeout, Exit: ExitPingTimeout})
	case e.side == FromServer && e.server.conn.isLost(now):
		e.server.conn.replace(now)
	case !e.pinged && e.state != StateOpening && now.Sub(e.heard) >= e.cfg.PingAfter:
		e.pinged = true
		e.send(now, &Message{Kind: KindPing})
	}
	e.sendTerrain(now)
}

// late reports whether a client has taken too long to come into the game.
func (e *Endpoint) late(now time.Time) bool {
	return e.state == StateOpening && now.Sub(e.born) >= e.cfg.VersionWithin ||
		e.state < StatePlaying && now.Sub(e.born) >= e.cfg.LoginWithin
}

// PollBytes copies the next bytes to write into buf, and returns their number. Call it when
// the stream can take them, and again while it fills buf.
func (e *Endpoint) PollBytes(buf []byte) int {
	e.sendTerrain(e.now)
	n := e.out.moveTo(buf, e.shared)
	e.stats.OutBytes += uint64(n)
	if e.state == StateClosing && e.out.list.Len() == 0 {
		e.end(e.close)
	}
	return n
}
