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
	"parley/internal/wire"
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = errors.New("duplex: connection closed")
	// ErrNotJoined means that the player is not in the game yet.
	ErrNotJoined = errors.New("duplex: not in the game yet")
	// ErrQueueFull means that too much waits to be written to main. Try again later.
	ErrQueueFull = errors.New("duplex: the queue of main is full: try again later")
	// ErrBusy means that too many queries wait for their replies. On the feed, it also means
	// that a query of this code waits, or waited a moment ago. Try again later.
	ErrBusy = errors.New("duplex: too many queries wait for their replies: try again later")
	// ErrNoFeed means that an update goes on the feed alone, and that there is no feed, or that it is too
	// large for a datagram.
	ErrNoFeed = errors.New("duplex: the update goes on the feed alone, and does not fit or there is no feed")
	// ErrNotIdempotent means that a query on the feed is not marked idempotent in the schema.
	ErrNotIdempotent = errors.New("duplex: the query is not idempotent: send it on main, or mark it in the schema")
	// ErrNoQuery means that there is no such query, or that it was already replied to.
	ErrNoQuery = errors.New("duplex: no such query")
)

// State is the state of a connection.
type State uint8

const (
	// StateConnecting is the state in which main is open. A client has asked to join; a
	// server waits for its client to ask.
	StateConnecting State = iota + 1
	// StateJoining is the state in which the client has its id and token and looks for a
	// feed.
	StateJoining
	// StateOpen is the state in which the player is in the game.
	StateOpen
	// StateClosing is the state in which the queue of main is being written.
	StateClosing
	// StateClosed is the state of an ended connection.
	StateClosed
)

var stateNames = [...]string{"unset", "connecting", "joining", "open", "closing", "closed"}

// String returns the state's name.
func (s State) String() string { return wire.NameOf(s, stateNames[:]) }

// Endpoint is one side of one connection, with both channels: a pure state machine. Call its
// methods in this order: Handle* → PollEvent until false → PollBytes, for main → PollTransmit
// until false, for the feed → sleep until NextTimeout.
type Endpoint struct {
	cfg    *Config
	rand   *rand.Rand
	lender *lend.Buffers
	side   Side // which we are
	state  State
	player int16
	sid    int16 // the own SID, if the reply to a pass has given one; else 0
	token  int32
	entry  entry     // a client's
	joined bool      // EventJoined was told
	now    time.Time // of the newest call
	born   time.Time

	main   netip.AddrPort // the peer's address there
	stream Stream
	out    outbox
	feed   feed
	inbox  inbox

	asked asked // our queries
	owed  owed  // the peer's

	mirror  *mirror // at a client: what it knows of the server's elements
	view    *view   // at a server: what the client knows of them
	closing closing // why and until when

	stats Stats
}

// entry is how far a client with a pass has come.
type entry struct {
	asked bool // it has shown its pass, and has no reply
	ready bool // it knows whether it has a feed
}

// Stats counts the messages of a connection by their fate.
type Stats struct {
	FeedIn     uint64 // datagrams on the feed: the sum of the eight below
	FeedTaken  uint64 // handled
	Malformed  uint64 // not a valid datagram, or not in the schema
	Late       uint64 // with a sequence number that is not above the last
	TooFar     uint64 // with a sequence number too far above the last
	OutOfState uint64 // valid, but not in this state
	NoRoom     uint64 // not taken because events were not polled or queries not answered
	Stray      uint64 // replies without a query, and datagrams from other addresses
	Ghosts     uint64 // updates of an element that main has declared gone

	MainIn      uint64 // messages on main
	MainInBytes uint64 // bytes received on main
	MainIgnored uint64 // messages on main that were valid, but not in this state

	FeedOut      uint64 // datagrams sent
	MainOutBytes uint64 // bytes sent on main
	LooseLost    uint64 // datagrams dropped because the socket was behind
	Updates      uint64 // UPDATE_MSGs sent of the server's elements
	Syncs        uint64 // syncs of all elements that were started
	FeedsLost    uint64 // times that the feed was lost
}

// Check returns an error if the counters do not add up.
func (s *Stats) Check() error {
	sum := s.FeedTaken + s.Malformed + s.Late + s.TooFar + s.OutOfState + s.NoRoom + s.Stray + s.Ghosts
	if sum != s.FeedIn {
		return fmt.Errorf("duplex: %d datagrams came, but the fate of %d is known", s.FeedIn, sum)
	}
	return nil
}

// sums adds the counters of connections.
var sums = metric.NewAdder[Stats]()

// Shared is what the endpoints of one loop share. Rand must be set.
type Shared struct {
	Rand *rand.Rand // makes the tokens, so it must be unpredictable

	buffers lend.Buffers
}

// NewClient returns a client that begins to join a server, to which its main is already
// connected. main and feed are the server's addresses on the two channels.
func NewClient(now time.Time, main, feed netip.AddrPort, c Config, s *Shared) *Endpoint {
	e := new(Endpoint)
	*e = newEndpoint(now, FromClient, main, c.fill(), s)
	e.feed.peer = admission.Canon(feed)
	e.mirror, e.feed.search = &mirror{items: map[int16]*item{}}, new(search)
	// "Client connects to main, sends CONN_INIT".
	e.signal(CodeConnInit)
	return e
}

func newEndpoint(now time.Time, side Side, main netip.AddrPort, c *Config, s *Shared) Endpoint {
	return Endpoint{
		cfg: c, rand: s.Rand, lender: &s.buffers, side: side, state: StateConnecting, now: now, born: now,
		main:   admission.Canon(main),
		stream: Stream{rules: c.rules, from: side.Other(), lender: &s.buffers},
	}
}

// State returns the state of the connection.
func (e *Endpoint) State() State { return e.state }

// Player returns the SID (element id) of the player's own element, 0 before it is given. It is the
// id of CONN_INIT_REP, or for a client with a pass the SID in the reply to the pass.
func (e *Endpoint) Player() int16 {
	if e.sid != 0 {
		return e.sid
	}
	return e.player
}

// MainAddr returns the peer's address on main.
func (e *Endpoint) MainAddr() netip.AddrPort { return e.main }

// FeedAddr returns the peer's address on the feed, the zero address while it is unknown.
func (e *Endpoint) FeedAddr() netip.AddrPort { return e.feed.peer }

// FeedUp reports whether the feed works. Without it, updates go over main.
func (e *Endpoint) FeedUp() bool { return e.feed.up }

// Queued returns how many bytes wait to be written to main, including those being written.
func (e *Endpoint) Queued() int { return e.out.size + e.out.flying }

// Stats returns the counters.
func (e *Endpoint) Stats() Stats { return e.stats }

// Over returns the reason why the connection has ended, if it has. Events may still be
// waiting for PollEvent.
func (e *Endpoint) Over() (why error, over bool) {
	if e.state != StateClosed {
		return nil, false
	}
	return e.closing.close, true
}

// Advance sets the time for calls before the next Handle*. An earlier time is ignored.
func (e *Endpoint) Advance(now time.Time) {
	if now.After(e.now) {
		e.now = now
	}
}

// Now returns the time of the newest call.
func (e *Endpoint) Now() time.Time { return e.now }

// NextTimeout returns when to call HandleTimeout next.
func (e *Endpoint) NextTimeout() (next time.Time, ok bool) {
	sooner := func(at time.Time) {
		if !at.IsZero() && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	switch e.state {
	case StateClosed:
		return next, false
	case StateClosing:
		return e.closing.until, true
	case StateConnecting, StateJoining:
		sooner(e.born.Add(e.cfg.JoinTimeout))
	}
	if e.feed.up {
		sooner(e.feed.heard.Add(e.cfg.FeedTimeout))
	}
	if e.feed.again != nil && e.feed.again.left > 0 {
		sooner(e.feed.again.at)
	}
	if e.feed.search != nil {
		sooner(e.feed.nextInit)
		sooner(e.feed.giveUp)
		sooner(e.feed.order.due())
	}
	sooner(e.asked.next)
	if e.view != nil {
		sooner(e.view.nextSync)
	}
	return next, ok
}

// HandleTimeout does everything that is due. It may be called early or late.
func (e *Endpoint) HandleTimeout(now time.Time) {
	e.now = now
	switch {
	case e.state == StateClosed:
		return
	case e.state == StateClosing:
		if !now.Before(e.closing.until) {
			e.end(e.closing.close)
		}
		return
	case e.state < StateOpen && now.Sub(e.born) >= e.cfg.JoinTimeout:
		e.end(Close{Reason: ReasonTimeout})
		return
	}
	e.feedTimeout(now)
	e.askTimeout(now)
	if e.view != nil {
		e.view.timeout(now, e.cfg.Resync)
	}
}

// PollEvent returns the next event. EventClosed comes when all earlier arrivals have been
// read, and is the last event.
func (e *Endpoint) PollEvent() (Event, bool) {
	if sid, ok := e.nextGone(); ok {
		return Event{Kind: EventGone, Channel: Main, SID: sid}, true
	}
	if ev, ok := e.inbox.pop(e.lender); ok {
		return ev, true
	}
	if e.closing.due {
		e.closing.due = false
		return Event{Kind: EventClosed, Close: e.closing.close, Goodbye: e.closing.goodbye}, true
	}
	return Event{}, false
}

// tell notes an event that has no data.
func (e *Endpoint) tell(ev Event) { e.inbox.put(ev, nil, e.lender) }

// join tells that the player is in the game.
func (e *Endpoint) join() {
	e.state, e.joined = StateOpen, true
	e.tell(Event{Kind: EventJoined, Channel: Main, Up: e.feed.up})
}
