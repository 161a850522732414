package core

import (
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/roster"
)

// Mux is the pure core of a server: it gives each datagram to the endpoint of its address, admits new
// connections and answers strangers. It has the same methods as Endpoint, for all connections.
//
// It stores nothing for a handshake: when the ack of an accept comes, it computes the clock of that accept
// again (see clock). So a flood of inits costs answers, but no memory.
type Mux struct {
	cfg      *Config
	shared   *Shared
	epoch    time.Time // of the keyed clocks
	now      time.Time
	farewell string // set while shutting down: what newcomers are told
	down     bool

	secret  *admission.Secret
	ended   *admission.Ended
	notices *admission.Buckets

	conns   *roster.Roster[*Conn]
	lobby   *roster.Lobby[*Conn] // connections that have confirmed nothing yet, and the places of those that have
	replies roster.Replies

	stats MuxStats
	past  Stats // of connections that have ended
}

// MuxStats counts the fates of datagrams and of connections.
type MuxStats struct {
	In        uint64 // datagrams: the sum of the nine below
	ToConns   uint64 // for a connection: see its Stats
	Malformed uint64 // malformed, from an address without a connection
	Crowded   uint64 // not answered, as too many connections of their address have confirmed nothing
	Accepts   uint64 // inits answered with an accept
	Rejects   uint64 // inits and acks answered with a rejection
	Opened    uint64 // acks that opened a connection
	Notices   uint64 // acks from strangers answered with a notice
	Strangers uint64 // packets from strangers that were not answered
	Unsent    uint64 // not answered because the socket was behind

	Late    uint64 // connections closed because they confirmed nothing in time
	GaveWay uint64 // connections closed because too many had confirmed nothing
	Ended   uint64 // connections that have ended
}

// Check returns an error if the counters do not add up.
func (s *MuxStats) Check() error {
	sum := s.ToConns + s.Malformed + s.Accepts + s.Rejects + s.Opened + s.Notices + s.Strangers + s.Unsent + s.Crowded
	if sum != s.In {
		return fmt.Errorf("stamp: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

// Conn is a server's connection. It is owned by the goroutine that calls the Mux.
type Conn struct {
	member
	number   uint32          // of the clock
	source   *netip.AddrPort // nil: its address is the true one
	mux      *Mux
	endpoint Endpoint
	in, out  uint64 // bytes

	// LogNumber, if the program sets it, is in each line of the log about the connection, as conn.
	LogNumber uint32
}

// member is a roster.Member by a name that users of a Conn do not see.
type member = roster.Member

// NewMux returns the core of a server. The key makes its clocks unguessable.
func NewMux(now time.Time, c Config, s *Shared, key Key) *Mux {
	cfg := c.fill()
	return &Mux{
		cfg: cfg, shared: s, epoch: now, now: now,
		secret:  admission.NewSecret(now, key),
		ended:   admission.NewEnded(key),
		notices: admission.NewBuckets(admission.BucketsConfig{}, key),
		conns:   roster.New[*Conn](),
		lobby:   roster.NewLobby[*Conn](roster.EnterWithin, cfg.MaxConns),
	}
}

// Conn returns the connection of an address, nil if there is none.
func (m *Mux) Conn(addr netip.AddrPort) *Conn { return m.conns.Get(admission.Canon(addr)) }

// Conns yields all connections. Do not call PollEvent while ranging over them: it forgets connections
// that have ended.
func (m *Mux) Conns() iter.Seq[*Conn] { return m.conns.All() }

// Len returns the number of connections.
func (m *Mux) Len() int { return m.conns.Len() }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// RoundTrips returns the round-trip times of all connections.
func (m *Mux) RoundTrips() Times { return m.shared.buffers.RoundTrips }

// Traffic returns the sum of the counters of all connections, ended ones included. It visits every
// connection.
func (m *Mux) Traffic() Stats {
	s := m.past
	for c := range m.conns.All() {
		one := c.endpoint.Stats()
		sums.Add(&s, &one)
	}
	return s
}

// HandleDatagram takes a datagram from any address.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.now = now
	m.stats.In++
	from = admission.Canon(from)
	if c := m.conns.Get(from); c != nil {
		m.stats.ToConns++
		if c.endpoint.state != StateClosed {
			c.in += uint64(len(b))
			c.endpoint.handle(now, b)
			if c.endpoint.heeds && roster.Waiting(&c.member) {
				m.enter(c)
			}
			m.conns.Touch(c)
		}
		return
	}
	var p Packet
	switch {
	case !p.Parse(FromClient, b):
		m.stats.Malformed++
	case p.Kind == KindInit:
		m.handleInit(now, from)
	case p.Kind == KindAck:
		m.handleAck(now, from, &p)
	default:
		m.stats.Strangers++ // "a disconnect is never answered"
	}
}

// HandleGone ends the connection of a session that has ended, as a time-out would later.
func (m *Mux) HandleGone(now time.Time, from netip.AddrPort) {
	m.now = now
	if c := m.conns.Get(from); c != nil {
		c.endpoint.lost(now)
		m.conns.Touch(c)
	}
}

// source returns the true address of a peer.
func (m *Mux) source(from netip.AddrPort) netip.Addr {
	return admission.SourceOf(m.cfg.Sessions, from).Addr()
}

// Shutdown says goodbye to all clients and admits no new ones.
func (m *Mux) Shutdown(now time.Time, reason string) {
	m.now, m.down, m.farewell = now, true, reason
	for c := range m.conns.All() {
		c.Close(reason)
	}
}

// Abort is Shutdown without waiting: each connection ends after one goodbye.
func (m *Mux) Abort(now time.Time, reason string) {
	m.Shutdown(now, reason)
	for c := range m.conns.All() {
		c.endpoint.Abort(now, reason)
	}
}

// NextTimeout returns when to call HandleTimeout next. It is valid once PollTransmit has returned false.
func (m *Mux) NextTimeout() (time.Time, bool) {
	next, ok := m.conns.NextTimeout()
	if due, is := m.lobby.NextTimeout(); is && (!ok || due.Before(next)) {
		next, ok = due, true
	}
	return next, ok
}

// HandleTimeout does everything that is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	m.closeLate(now)
	for c, ok := m.conns.Due(now); ok; c, ok = m.conns.Due(now) {
		c.endpoint.HandleTimeout(now)
		m.conns.Touch(c)
	}
}

// PollEvent returns the next event and its connection.
func (m *Mux) PollEvent() (*Conn, Event, bool) {
	for c, ok := m.conns.Eventful(); ok; c, ok = m.conns.Eventful() {
		c.endpoint.now = m.now
		if ev, ok := c.endpoint.PollEvent(); ok {
			if ev.Kind == EventClosed {
				m.forget(c)
			}
			return c, ev, true
		}
		m.conns.Calm(c)
	}
	return nil, Event{}, false
}

// Quiet reports whether PollEvent has nothing to return.
func (m *Mux) Quiet() bool { return m.conns.Quiet() }

// Idle reports whether nothing is kept for any address: no connection, timer, event or answer.
func (m *Mux) Idle() bool { return m.conns.Idle() && m.replies.Len() == 0 }

// forget takes a closed connection out of the table. What it still has to send goes
// out first.
func (m *Mux) forget(c *Conn) {
	m.conns.Remove(c.endpoint.peer, c)
	m.lobby.Leave(c)
	m.ended.End(m.now, c.endpoint.peer, c.number)
	m.stats.Ended++
	one := c.endpoint.Stats()
	sums.Add(&m.past, &one)
}

// PollTransmit writes the next packet into buf, which has at least MaxPacket bytes, and returns its
// address.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if n, to, ok := m.replies.MoveTo(buf); ok {
		return n, to, true
	}
	for c, ok := m.conns.Busy(); ok; c, ok = m.conns.Busy() {
		c.endpoint.now = m.now
		if n, to, ok := c.endpoint.PollTransmit(buf); ok {
			c.out += uint64(n)
			if roster.Gone(&c.member) {
				m.past.Out++ // its counters were taken over before this
			}
			return n, to, true
		}
		at, ok := c.endpoint.NextTimeout()
		m.conns.Rest(c, at, ok)
	}
	return 0, netip.AddrPort{}, false
}

// Advance sets the time for calls on a Conn before the next Handle*. An earlier time is ignored.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}

// Send sends an entity packet to this client. The time is that of the Mux's latest Handle* or Advance.
// Nothing is sent if it returns an error.
func (c *Conn) Send(mode Mode, data []byte) error {
	err := c.endpoint.Send(c.mux.now, mode, data)
	c.mux.conns.Load(c)
	return err
}

// SendReport sends an entity packet that is not sent again if it is lost: its fate is reported instead.
// It is for snapshots, whose newest values are worth more than the lost ones. The tag comes back once,
// with EventAcked or EventLost, unless the connection ends first. With tag 0 nothing is reported.
func (c *Conn) SendReport(data []byte, tag uint32) error {
	err := c.endpoint.SendReport(c.mux.now, data, tag)
	c.mux.conns.Load(c)
	return err
}

// Close ends the connection. Reliable packets that are not acknowledged yet have half of Config.Linger
// to arrive. Then the client is told the reason.
func (c *Conn) Close(reason string) {
	c.endpoint.Close(c.mux.now, reason)
	c.mux.conns.Touch(c)
}

// Peer returns the client's address. A session of a browser has one that is made up.
func (c *Conn) Peer() netip.AddrPort { return c.endpoint.peer }

// Source returns the client's true address, which rates, counts, bans and logs go by.
func (c *Conn) Source() netip.AddrPort {
	if c.source == nil {
		return c.endpoint.peer
	}
	return *c.source
}

// hasSource notes the true address of a client whose address is made up.
func (c *Conn) hasSource(from netip.AddrPort) {
	if source := admission.SourceOf(c.mux.cfg.Sessions, from); source != from {
		c.source = &source
	}
}

// MaxData returns the largest size of an entity packet's data to this peer: the constant, or less over WebTransport.
func (c *Conn) MaxData() int { return c.endpoint.MaxData() }

// RTT returns the smoothed round-trip time, 0 while it is unknown.
func (c *Conn) RTT() time.Duration { return c.endpoint.RTT() }

// Rate returns an estimate of how many bytes a second the path carries. A game uses Rate and Pressure to
// decide how much to send.
func (c *Conn) Rate() int64 { return c.endpoint.Rate() }

// Pressure returns how much was given to Send and still waits.
func (c *Conn) Pressure() Pressure { return c.endpoint.Pressure() }

// Budget returns how many bytes the tick that begins now may send the client, headers of IP and UDP included: a great many unless
// the path to the client is narrow. Call it once a tick, before the tick's packets are sent. If it is 0, nothing should be sent
// by SendReport.
func (c *Conn) Budget() int { return c.endpoint.sender.Budget(c.mux.now) }

// Path returns what is known of the path to the client. Without Budget nothing is.
func (c *Conn) Path() Path { return c.endpoint.sender.Path() }

// ServerTime returns the connection's clock in µs, which its packets carry.
func (c *Conn) ServerTime() uint64 { return c.endpoint.ServerTime(c.mux.now) }

// Bytes returns how many bytes of payload have come from the client, and how many were sent to it.
func (c *Conn) Bytes() (in, out uint64) { return c.in, c.out }

// Stats returns the counters.
func (c *Conn) Stats() Stats { return c.endpoint.Stats() }
