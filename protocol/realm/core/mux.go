package core

import (
	"iter"
	"net/netip"
	"time"

	"parley/internal/clocksync"
	"parley/internal/pace"
	"parley/internal/queue"
	"parley/internal/roster"
)

// Mux is the pure server core: all connections of a server. Call its methods in this order: Accept,
// HandleBytes, HandleEnd or HandleTimeout → PollEvent until false → PollBytes until false → sleep until
// NextTimeout.
type Mux struct {
	cfg    *Config
	shared *Shared
	conns  *roster.Roster[*Conn]
	now    time.Time

	epoch     time.Time // when the server began; epochUnix is the same in Unix µs. Our clock does not jump with the wall clock
	epochUnix uint64
	ticks     clocksync.Ticks

	main    *Group
	holders map[string]*Conn // which connection has the session of an account, by the key of its name
	players int
	waiting int               // connections that are not in the game
	crowd   queue.Fifo[*Conn] // the same, oldest first; some have left
	ended   *Conn             // whose EventClosed was polled; those whom it concerns are not told yet
	down    bool
	hooks   Hooks
	stats   MuxStats
	past    Stats // of connections that have ended
}

// Hooks are functions of the shell that the methods of a Conn call. Each may be nil.
type Hooks struct {
	Entered func(c *Conn) // Enter has let a player in
	Refused func(c *Conn) // Refuse was called

	// Key returns the form in which names of accounts are compared. Without it, they are compared as they are.
	Key func(name string) string

	// Pace returns what a tick may send to the client, how many bytes of the stream the client is not known to have, and
	// whether an answer of the client would show more.
	Pace     func(now time.Time, c *Conn) (budget, unacked int, probe bool)
	Estimate func(c *Conn) pace.Estimate
}

// Conn is one client of a Mux.
type Conn struct {
	//lint:ignore U1000 the roster reaches it by a method of its own
	member
	endpoint *Endpoint

	// Owner is for the program's own use, such as its player.
	Owner any

	// LogNumber, if the program sets it, is in each line of the log about the connection, as conn.
	LogNumber uint32

	mux     *Mux
	group   *Group // see Place; nil before
	place   int    // in the group's list, or nowhere
	account string // whose session it has, or had: the key of the name
	probe   probe

	blocked bool // the stream takes no bytes now
	counted bool // in mux.waiting
	played  bool // it is, or was, in the game

	in uint64 // bytes

	link any // the shell's own part of the connection
}

// member has a name that users of a Conn do not see.
//
//lint:ignore U1000 as the field
type member = roster.Member

// MuxStats counts the fates of connections.
type MuxStats struct {
	Accepted  uint64 // connections that were accepted
	Ended     uint64 // connections that have ended
	Crowded   uint64 // connections closed because too many others were waiting
	Entered   uint64 // players that entered the game
	Probed    uint64 // connections that were asked whether they are there, as their accounts logged in again
	Replaced  uint64 // connections that did not answer that, and were closed
	Players   int    // players in the game now
	Waiting   int    // connections that are not in the game now
	Broadcast uint64 // messages that were encoded once for many connections
	Receivers uint64 // queues that got such messages
}

// NewMux returns a server core without connections.
func NewMux(now time.Time, c Config, s *Shared) *Mux {
	m := &Mux{cfg: c.fill(), shared: s, conns: roster.New[*Conn](), holders: map[string]*Conn{}, now: now, epoch: now, epochUnix: uint64(now.UnixMicro())}
	m.ticks = clocksync.PerSecond(m.cfg.TickRate).From(0, m.epochUnix)
	m.main = m.NewGroup(GroupConfig{Terrain: m.cfg.Terrain})
	return m
}

// SetHooks sets the functions of a shell. Call it before all others.
func (m *Mux) SetHooks(h Hooks) { m.hooks = h }

// Config returns the configuration, in which every field has its value.
func (m *Mux) Config() Config { return *m.cfg }

// SetLink stores a value of the shell with a connection, such as its stream.
func (m *Mux) SetLink(c *Conn, link any) { c.link = link }

// Link returns the value that SetLink has stored.
func (m *Mux) Link(c *Conn) any { return c.link }

// Codec returns the codec of the schema, for making messages.
func (m *Mux) Codec() *Codec { return m.cfg.codec }

// Len returns the number of connections.
func (m *Mux) Len() int { return m.conns.Len() }

// Players returns the number of players in the game.
func (m *Mux) Players() int { return m.players }

// Conns yields all connections.
func (m *Mux) Conns() iter.Seq[*Conn] { return m.conns.All() }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats {
	s := m.stats
	s.Players, s.Waiting = m.players, m.waiting
	return s
}

// Traffic returns the sum of the counters of all connections, ended ones included. It visits every
// connection.
func (m *Mux) Traffic() Stats {
	s := m.past
	for c := range m.conns.All() {
		sums.Add(&s, &c.endpoint.stats)
	}
	return s
}

// Advance sets the time for calls on a Conn before the next Handle*. An earlier time is ignored.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}

// Now returns the time of the newest call.
func (m *Mux) Now() time.Time { return m.now }

// Unix returns the server's clock in Unix µs.
func (m *Mux) Unix(now time.Time) uint64 {
	return m.epochUnix + uint64(now.Sub(m.epoch).Microseconds())
}

// Tick is Group.Tick of the main group.
func (m *Mux) Tick(now time.Time) uint64 { return m.main.Tick(now) }

// BeginTick is Group.BeginTick of the main group.
func (m *Mux) BeginTick(due time.Time, tick uint64) { m.main.BeginTick(due, tick) }

// Accept adds a connection from an address. Its deadlines count from born, the time at which it began.
func (m *Mux) Accept(now time.Time, from netip.AddrPort, born time.Time) *Conn {
	m.now = now
	c := &Conn{mux: m, place: nowhere, endpoint: newEndpoint(now, FromServer, from, m.cfg, m.shared)}
	c.endpoint.born = born
	c.endpoint.server.conn = c
	m.stats.Accepted++
	m.conns.Add(from, c)
	if m.down {
		c.endpoint.Close(now, ExitServerClosed, "server closing")
		m.touch(c)
		return c
	}
	c.counted = true
	m.waiting++
	m.crowd.Push(c)
	for m.waiting > m.cfg.MaxWaiting || m.crowd.Len() > 0 && !(*m.crowd.First()).counted {
		if first := m.crowd.Pop(); first.counted {
			m.stats.Crowded++
			first.endpoint.fail(now, Close{Reason: ReasonCrowded, Exit: ExitNetworkError})
			m.touch(first)
		}
	}
	m.touch(c)
	return c
}

// touch has a connection polled, after whatever may have changed it.
func (m *Mux) touch(c *Conn) {
	m.settle(c)
	m.conns.Touch(c)
}

// settle counts a connection that waits no more.
func (m *Mux) settle(c *Conn) {
	if c.counted && c.endpoint.state >= StatePlaying {
		c.counted = false
		m.waiting--
	}
}

// HandleBytes takes bytes of a connection's stream. They must not change until PollEvent has returned
// false.
func (m *Mux) HandleBytes(now time.Time, c *Conn, b []byte) {
	m.now = now
	c.in += uint64(len(b))
	c.endpoint.HandleBytes(now, b)
	m.touch(c)
}

// HandleEnd tells a connection that its stream has ended.
func (m *Mux) HandleEnd(now time.Time, c *Conn, err error) {
	m.now = now
	c.endpoint.HandleEnd(now, err)
	m.touch(c)
}

// NextTimeout returns when to call HandleTimeout next. It is valid once PollBytes has returned false.
func (m *Mux) NextTimeout() (time.Time, bool) { return m.conns.NextTimeout() }

// HandleTimeout does everything that is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	for c, ok := m.conns.Due(now); ok; c, ok = m.conns.Due(now) {
		c.endpoint.HandleTimeout(now)
		m.touch(c)
	}
}

// PollEvent returns the next event and its connection.
func (m *Mux) PollEvent() (*Conn, Event, bool) {
	m.afterEnd()
	for c, ok := m.conns.Eventful(); ok; c, ok = m.conns.Eventful() {
		c.endpoint.now = m.now
		if ev, ok := c.endpoint.PollEvent(); ok {
			if ev.Kind == EventClosed {
				m.forget(c)
			}
			return c, ev, true
		}
		m.settle(c)
		m.conns.Calm(c)
	}
	return nil, Event{}, false
}

// Quiet reports whether PollEvent has nothing to return.
func (m *Mux) Quiet() bool { return m.conns.Quiet() }

// forget takes a closed connection out of the table.
func (m *Mux) forget(c *Conn) {
	m.settle(c)
	m.conns.Remove(c.endpoint.peer, c)
	m.stats.Ended++
	sums.Add(&m.past, &c.endpoint.stats)
	m.unhold(c)
	c.displace()
	if c.played {
		m.players--
	}
	m.ended = c
}

// afterEnd tells those whom the end of a connection concerns. The program was told before: the game, which sends
// the entity_destroy that comes first, and the accounts, whose session is over.
func (m *Mux) afterEnd() {
	c := m.ended
	if c == nil {
		return
	}
	m.ended = nil
	if c.played {
		g := c.group
		g.broadcast(&Message{Kind: KindMetaAction, Tick: uint16(g.Tick(m.now)), ID: c.endpoint.server.entity, Code: uint8(MetaPlayerLeft)})
	}
	m.askAgain(&c.probe)
}

// PollBytes writes the next bytes of a connection into buf, and returns that connection. It skips blocked
// connections. If the stream takes no more bytes after these, call Block.
func (m *Mux) PollBytes(buf []byte) (*Conn, int, bool) {
	for c, ok := m.conns.Busy(); ok; c, ok = m.conns.Busy() {
		c.endpoint.now = m.now
		if !c.blocked {
			before := c.endpoint.state
			if n := c.endpoint.PollBytes(buf); n > 0 {
				if c.endpoint.state != before {
					m.conns.Touch(c) // its end is to be told
				}
				return c, n, true
			}
		}
		at, ok := c.endpoint.NextTimeout()
		m.conns.Rest(c, at, ok)
	}
	return nil, 0, false
}

// Block tells the Mux that a connection's stream takes no bytes until Unblock.
func (m *Mux) Block(c *Conn) { c.blocked = true }

// Unblock tells the Mux that the stream takes bytes again.
func (m *Mux) Unblock(now time.Time, c *Conn) {
	m.now = now
	c.blocked = false
	m.touch(c)
}

// Shutdown says goodbye to all clients and admits no new ones: "a server going down sends 1".
func (m *Mux) Shutdown(now time.Time, text string) {
	m.now, m.down = now, true
	for c := range m.conns.All() {
		c.endpoint.Close(now, ExitServerClosed, text)
		m.touch(c)
	}
}

// CutAll ends all connections at once, with the reasons that they got from Shutdown or Close. Bytes that are not written are
// dropped.
func (m *Mux) CutAll() {
	for c := range m.conns.All() {
		c.endpoint.end(c.endpoint.close)
		m.touch(c)
	}
}
