package core

import (
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/pace"
	"parley/internal/queue"
	"parley/internal/roster"
)

// Mux is the pure core of a server: the connections, their feeds and their scenes. It has the same methods as Endpoint, for
// all connections. Accept adds the main of a new connection.
type Mux struct {
	Scene // of the connections that are put into no other

	cfg    *Config
	shared *Shared
	now    time.Time
	down   bool // shutting down: nobody is let in

	conns  *roster.Roster[*Conn] // by the address of main
	ids    map[int16]*Conn       // by the id that CONN_INIT_REP gave
	feeds  map[netip.AddrPort]*Conn
	lastID int16

	porch   *admission.Porch[*Conn] // mains that have not joined
	joined  int                     // players, including those whose EventClosed was not polled yet
	rates   *admission.Buckets      // of CONN_INIT; nil: no limits
	key     admission.Key
	wrong   *admission.HalfOpen[uint8] // how many wrong tokens a source has sent; nil before the first
	former  *admission.Ignored         // feeds of players that left
	streams queue.Fifo[*Conn]          // with bytes of main to poll

	hooks Hooks
	stats MuxStats
	past  Stats // of connections that have ended
}

// Hooks are functions of the shell that the methods of a Conn call. Each may be nil.
type Hooks struct {
	// Pace returns what a tick may send to the client, how many bytes of main the client is not known to have, and whether a
	// message on main would show more. beside is how many bytes of datagrams have gone to the client since the last call.
	Pace     func(now time.Time, c *Conn, beside int) (budget, unacked int, probe bool)
	Estimate func(c *Conn) pace.Estimate
}

// SetHooks sets the functions of a shell. Call it before all others.
func (m *Mux) SetHooks(h Hooks) { m.hooks = h }

// MuxStats counts the fates of datagrams and of connections.
type MuxStats struct {
	In           uint64 // datagrams: the sum of the nine below
	ToConns      uint64 // for a player: see its Stats
	Malformed    uint64 // not valid, and not from a player's feed
	Strangers    uint64 // valid, but not from a player's feed
	Bound        uint64 // FEED_INITs that opened or moved a feed
	Kept         uint64 // FEED_INITs that kept a feed alive
	NoPlayer     uint64 // FEED_INITs for a player that does not exist, or from a wrong address
	WrongToken   uint64 // FEED_INITs with a wrong token
	Ignored      uint64 // FEED_INITs of a source that sent too many wrong ones
	InitsRefused uint64 // FEED_INITs that were late, too far ahead, or from another player's feed

	Accepted uint64 // mains that were accepted
	Refused  uint64 // mains that were told REFUSED
	Hasty    uint64 // of these, mains whose address or network connects too often
	Crowded  uint64 // mains closed because too many had not joined: of their address, of its network, or in all
	BadPass  uint64 // passes that were refused
	Ended    uint64 // mains that have ended
}

// Check returns an error if the counters do not add up.
func (s *MuxStats) Check() error {
	sum := s.ToConns + s.Malformed + s.Strangers + s.Bound + s.Kept + s.NoPlayer + s.WrongToken + s.Ignored + s.InitsRefused
	if sum != s.In {
		return fmt.Errorf("duplex: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

// Conn is a server's connection. It is owned by the goroutine that calls the Mux.
type Conn struct {
	e    Endpoint
	told view // the endpoint's, in one piece of memory with it
	//lint:ignore U1000 the roster reaches it by a method of its own
	member
	mux   *Mux
	scene *Scene
	index int32 // in Scene.conns

	// LogNumber, if the program sets it, is in each line of the log about the connection, as conn.
	LogNumber uint32

	carrier   any                     // what brings the bytes of main
	place     *admission.Place[*Conn] // until it has joined
	streaming bool                    // in Mux.streams
	counted   bool                    // among the players
	entry     passes

	// Owner is for the program's own use, such as its player.
	Owner any
}

// member is embedded by a name that the users of a connection do not see.
//
//lint:ignore U1000 as the field
type member = roster.Member

// NewMux returns the core of a server. The key makes it unpredictable which sources share a slot in its tables.
func NewMux(now time.Time, c Config, s *Shared, key [32]byte) *Mux {
	m := &Mux{
		cfg: c.fill(), shared: s, now: now,
		conns:  roster.New[*Conn](),
		ids:    map[int16]*Conn{},
		feeds:  map[netip.AddrPort]*Conn{},
		key:    key,
		former: admission.NewIgnored(key),
	}
	m.Scene = Scene{mux: m, elements: newElements()}
	per := m.cfg.WaitingPerAddress
	m.porch = admission.NewPorch[*Conn](admission.PorchConfig{Host: per, Network: 8 * per})
	if per >= 0 {
		m.rates = admission.NewBuckets(admission.BucketsConfig{Source: connectRate, Prefix: networkRate, Total: admission.NoLimit}, key)
	}
	return m
}

// ByID returns the connection that CONN_INIT_REP has given an id, nil if there is none.
func (m *Mux) ByID(id int16) *Conn { return m.ids[id] }

// Len returns the number of connections, of all scenes.
func (m *Mux) Len() int { return m.conns.Len() }

// Conns yields all connections, of all scenes, including those that have not joined. Do not call PollEvent while ranging
// over them: it forgets connections that have ended.
func (m *Mux) Conns() iter.Seq[*Conn] { return m.conns.All() }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// Traffic returns the sum of the counters of all connections, ended ones included. It visits every connection.
func (m *Mux) Traffic() Stats {
	s := m.past
	for c := range m.conns.All() {
		sums.Add(&s, &c.e.stats)
	}
	return s
}

// HandleDatagram takes a datagram from any address.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.now = now
	m.stats.In++
	from = admission.Canon(from)
	var d Datagram
	ok := d.Parse(FromClient, b)
	if ok && d.Kind == KindFeedInit {
		m.handleFeedInit(now, from, &d)
		return
	}
	c := m.feeds[from]
	switch {
	case c == nil && !ok:
		m.stats.Malformed++
	case c == nil:
		m.stats.Strangers++
	default:
		m.stats.ToConns++
		c.e.now = now
		c.told.feedIn += uint32(len(b))
		c.e.handleFeed(now, &d, ok)
		m.conns.Touch(c) // it has nothing to say on main by that
	}
}

// HandleBytes takes bytes from the main of a connection, and returns how many it took; see Endpoint.HandleBytes.
func (m *Mux) HandleBytes(now time.Time, c *Conn, b []byte) int {
	m.now = now
	n := 0
	for n < len(b) && c.e.state < StateClosing {
		// The answer to CONN_INIT comes before all that follows it.
		k := len(b) - n
		if c.e.state == StateConnecting {
			k = 1
		}
		k = c.e.HandleBytes(now, b[n:n+k])
		if c.e.view.wantsIn {
			c.e.view.wantsIn = false
			m.admit(c)
		}
		if n += k; k == 0 {
			break
		}
	}
	if c.e.joined && !c.counted {
		c.counted = true
		m.joined++
		m.porch.Leave(c.place)
	}
	if c.e.state >= StateClosing {
		n = len(b)
	}
	m.touch(c)
	return n
}

// HandleEnd tells a connection that its main has ended; see Endpoint.HandleEnd.
func (m *Mux) HandleEnd(now time.Time, c *Conn, text string) {
	m.now = now
	c.e.HandleEnd(now, text)
	m.touch(c)
}

// Shutdown closes all connections and admits no new ones.
func (m *Mux) Shutdown(now time.Time, text string) {
	m.now, m.down = now, true
	for c := range m.conns.All() {
		c.Close(text)
	}
}

// Abort is Shutdown without waiting for the queues of mains.
func (m *Mux) Abort(now time.Time, text string) {
	m.Shutdown(now, text)
	for c := range m.conns.All() {
		c.e.Abort(now, text)
		m.touch(c)
	}
}

// NextTimeout returns when to call HandleTimeout next. It is valid once PollTransmit has returned false.
func (m *Mux) NextTimeout() (time.Time, bool) { return m.conns.NextTimeout() }

// HandleTimeout does everything that is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	for c, ok := m.conns.Due(now); ok; c, ok = m.conns.Due(now) {
		c.e.HandleTimeout(now)
		m.touch(c)
	}
}

// SetCarrier stores the carrier of a connection's main with the connection, for the program that drives the Mux.
func (m *Mux) SetCarrier(c *Conn, carrier any) { c.carrier = carrier }

// Carrier returns the carrier that SetCarrier has stored, or nil.
func (m *Mux) Carrier(c *Conn) any { return c.carrier }

// Flushed reports whether a connection that has ended had written all of its queue; see Endpoint.Flushed.
func (m *Mux) Flushed(c *Conn) bool { return c.e.Flushed() }

// JoinTimeout returns how long a main may be open before its player has joined.
func (m *Mux) JoinTimeout() time.Duration { return m.cfg.JoinTimeout }

// Now returns the time of the newest call.
func (m *Mux) Now() time.Time { return m.now }

// touch notes that a connection was called: it may have events, datagrams and bytes.
func (m *Mux) touch(c *Conn) {
	m.conns.Touch(c)
	if !c.streaming {
		c.streaming = true
		m.streams.Push(c)
	}
}

// load notes that a connection was given something to send. If that went to its feed, it has neither events nor bytes, and
// nobody need look.
func (m *Mux) load(c *Conn) {
	if c.e.out.size > 0 || c.e.state != StateOpen {
		m.touch(c)
	} else {
		m.conns.Load(c)
	}
}

// PollEvent returns the next event and its connection. EventClosed comes for every connection that Accept returned, even if
// it never joined: close its main then.
func (m *Mux) PollEvent() (*Conn, Event, bool) {
	for c, ok := m.conns.Eventful(); ok; c, ok = m.conns.Eventful() {
		c.e.now = m.now
		if ev, ok := c.e.PollEvent(); ok {
			if ev.Kind == EventClosed {
				m.forget(c)
			}
			return c, ev, true
		}
		m.conns.Calm(c)
	}
	return nil, Event{}, false
}

// PollTransmit writes the next datagram of a feed into buf, which has at least MaxDatagram bytes, and returns its address.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for c, ok := m.conns.Busy(); ok; c, ok = m.conns.Busy() {
		c.e.now = m.now
		if n, to, ok := c.e.PollTransmit(buf); ok {
			c.told.feedOut += uint32(n)
			return n, to, true
		}
		at, ok := c.e.NextTimeout()
		m.conns.Rest(c, at, ok)
	}
	return 0, netip.AddrPort{}, false
}

// PollBytes writes the next bytes of a main into buf, and returns its connection. It returns no more of that connection
// until Written is called. Call it after PollEvent and before PollTransmit, which updates the connection's next timeout.
func (m *Mux) PollBytes(buf []byte) (int, *Conn, bool) {
	for m.streams.Len() > 0 {
		c := m.streams.Pop()
		c.streaming = false
		c.e.now = m.now
		if n := c.e.PollBytes(buf); n > 0 {
			return n, c, true
		}
	}
	return 0, nil, false
}

// Written tells the Mux that the bytes of PollBytes were given to the system.
func (m *Mux) Written(now time.Time, c *Conn) {
	m.now = now
	c.e.Written(now)
	m.touch(c)
}

// Advance sets the time for calls on a Conn before the next Handle*. An earlier time is ignored.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}
