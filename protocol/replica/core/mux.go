package core

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
	"parley/internal/roster"
)

// Mux is the pure core of a server: it gives each datagram to the endpoint of its address, admits new
// connections and answers strangers. It has the same methods as Endpoint, for all connections.
type Mux struct {
	cfg     *Config
	shared  *Shared
	epoch   time.Time // of the keyed clocks
	now     time.Time
	closing string // set while shutting down: what newcomers are told
	down    bool

	secret  *admission.Secret
	half    *admission.HalfOpen[halfOpen]
	ended   *admission.Ended
	notices *admission.Buckets
	asked   queue.Fifo[askedSync] // in the order of their next times, as all have the same interval

	store   Store
	draft   draft
	frames  frames
	conns   *roster.Roster[*Conn]
	last    *Conn                // the connection of the latest datagram: in a bulk, the next is for it, too
	lobby   *roster.Lobby[*Conn] // connections that have not entered, and the places of those that have
	replies roster.Replies

	sources   map[*Conn]netip.AddrPort // true addresses of connections whose own are made up: few have one, and a Conn has no room for it
	forgotten *Conn                    // the last that has ended: its source is forgotten with the next event

	stats MuxStats
	past  Stats // of connections that have ended
}

// MuxStats counts the fates of datagrams that belong to no connection, and of connections.
type MuxStats struct {
	Malformed uint64 // malformed packets from addresses without a connection
	Deferred  uint64 // inits that were not answered, as too many are open
	Crowded   uint64 // packets that were not answered, as too many connections of their address have not entered
	Late      uint64 // connections closed because they did not enter in time
	GaveWay   uint64 // connections closed because too many had not entered
	Accepts   uint64 // accepts sent
	Rejects   uint64 // rejects sent
	Unproven  uint64 // packets from addresses that are not proven yet
	Asked     uint64 // sync.inits sent to such addresses
	Notices   uint64 // notices sent to strangers
	Strangers uint64 // packets from strangers that were not answered
	Unsent    uint64 // answers dropped because the socket was behind
	Opened    uint64 // connections that were opened
	Ended     uint64 // connections that have ended
}

// halfOpen is what is remembered of an address that is not proven.
type halfOpen struct {
	extended bool
	acked    bool
	number   uint32 // of the clock
	next     uint16 // our next sequence
	syncs    uint8  // sync.inits sent
	sequence uint16 // of the newest
	sentAt   time.Time
}

// askedSync is an address that is owed a sync.init, and when.
type askedSync struct {
	addr netip.AddrPort
	due  time.Time
}

// member is embedded by a name that users of a Conn do not see.
type member = roster.Member

// Conn is a server's connection. It is owned by the goroutine that calls the Mux.
type Conn struct {
	member

	// LogNumber, if the program sets it, is in each line of the log about the connection, as conn.
	LogNumber uint32

	in uint32 // bytes; those out are endpoint.wrote: a Conn has room for both between other fields only

	mux      *Mux
	endpoint Endpoint
}

// NewMux returns the core of a server. The key makes its clocks unguessable.
func NewMux(now time.Time, c Config, s *Shared, key Key) *Mux {
	cfg := c.fill()
	return &Mux{
		store: Store{key: binary.LittleEndian.Uint64(key[:])},
		cfg:   cfg, shared: s, epoch: now, now: now,
		secret:  admission.NewSecret(now, key),
		half:    admission.NewHalfOpen[halfOpen](admission.HalfOpenConfig{}, key),
		ended:   admission.NewEnded(key),
		notices: admission.NewBuckets(admission.BucketsConfig{}, key),
		conns:   roster.New[*Conn](),
		lobby:   roster.NewLobby[*Conn](max(cfg.EnterWithin, 0), cfg.MaxConns),
	}
}

// Store returns the values that the server replicates.
func (m *Mux) Store() *Store { return &m.store }

// Conn returns the connection of an address, nil if there is none.
func (m *Mux) Conn(addr netip.AddrPort) *Conn { return m.conns.Get(admission.Canon(addr)) }

// Conns yields all connections. Do not call PollEvent while ranging over them: it forgets connections
// that have ended.
func (m *Mux) Conns() iter.Seq[*Conn] { return m.conns.All() }

// Replicate sends each client the changes in its sight, at most budget bytes for each. Call it once a
// tick.
func (m *Mux) Replicate(budget int) {
	for c := range m.conns.All() {
		c.Replicate(budget)
	}
}

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
		one := c.Stats()
		sums.Add(&s, &one)
	}
	return s
}

// HandleDatagram takes a datagram from any address.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.now = now
	from = admission.Canon(from)
	c := m.last
	if c == nil || c.endpoint.peer != from {
		c = m.conns.Get(from)
	}
	if c != nil {
		m.last = c
		c.in += uint32(len(b))
		c.endpoint.take(now, b)
		if c.endpoint.hasEvents() {
			m.conns.Touch(c)
		} else {
			m.conns.Load(c)
		}
		return
	}
	var p Packet
	if typeOf(b) >= TypeBundle || !p.Parse(FromClient, b) { // a bundle is for who has agreed on them
		m.stats.Malformed++
		return
	}
	if p.Kind == KindInit {
		m.handleInit(now, from, &p)
		return
	}
	if v := m.half.Get(now, from); v != nil {
		m.handleUnproven(now, from, v, &p, b)
		return
	}
	m.handleStranger(now, from, &p)
}

// source returns the true address of a peer.
func (m *Mux) source(from netip.AddrPort) netip.Addr {
	return admission.SourceOf(m.cfg.Sessions, from).Addr()
}

// HandleGone ends the connection of a session that has ended, as a time-out would later.
func (m *Mux) HandleGone(now time.Time, from netip.AddrPort) {
	m.now = now
	if c := m.conns.Get(from); c != nil {
		c.endpoint.lost(now)
		m.conns.Touch(c)
	}
	m.half.Drop(now, from)
}

// handleInit answers someone who wants to connect: "The server answers each init
// of a handshake with an accept, sequence 1, fresh times".
func (m *Mux) handleInit(now time.Time, from netip.AddrPort, p *Packet) {
	switch {
	case m.down:
		m.reject(from, m.closing)
		return
	case m.lobby.Full():
		m.reject(from, serverFull)
		return
	case !m.lobby.HasRoom(m.source(from)):
		m.stats.Crowded++
		return
	}
	if m.cfg.Admit != nil {
		if reason, ok := m.cfg.Admit(from); !ok {
			m.reject(from, reason)
			return
		}
	}
	v, verdict := m.half.Open(now, from)
	if verdict == admission.Deferred {
		m.stats.Deferred++
		return
	}
	if verdict == admission.Opened {
		*v = halfOpen{extended: p.Extended && !m.cfg.Foreign, number: m.ended.Next(now, from), next: 2}
	}
	t := m.clock(now, from, v.number)
	m.reply(from, &Packet{
		Kind: KindAccept, Reliable: true, Sequence: 1, Extended: v.extended,
		Received: t, Sent: t, SyncInterval: uint32(m.cfg.SyncInterval.Microseconds()),
	}, &m.stats.Accepts)
}

// clock is the time of a connection: it starts at a keyed hash of the address,
// so that who does not receive our packets cannot know it.
func (m *Mux) clock(now time.Time, from netip.AddrPort, number uint32) uint64 {
	return m.secret.Clock(from, number) + uint64(now.Sub(m.epoch).Microseconds())
}

// handleUnproven takes a packet of an address that has an accept: it proves
// itself by a time that only the accept can have told it, or is asked again.
func (m *Mux) handleUnproven(now time.Time, from netip.AddrPort, v *halfOpen, p *Packet, b []byte) {
	t := m.clock(now, from, v.number)
	told := p.Kind == KindMessage && admission.InTime(p.Time, t) ||
		p.Kind == KindSyncAck && admission.InTime(p.Sent, t) && admission.InTime(p.Received, t)
	if !told {
		m.stats.Unproven++
		if !v.acked {
			v.acked = true
			m.askLater(now, from)
		}
		m.askUnproven(now, from, v)
		return
	}
	if !m.down && !m.lobby.HasRoom(m.source(from)) {
		m.stats.Crowded++
		return
	}
	proven, _ := m.half.Prove(now, from)
	switch {
	case m.down:
		m.reject(from, m.closing)
		return
	case m.lobby.Full():
		m.reject(from, serverFull)
		return
	}
	m.stats.Opened++
	c := &Conn{mux: m}
	c.hasSource(from)
	c.endpoint.beginServer(now, from, m.cfg, m.shared, proven.extended, t, uint64(proven.next))
	if proven.syncs > 0 {
		c.endpoint.noteSync(proven.sequence, proven.sentAt)
	}
	c.endpoint.store, c.endpoint.number = &m.store, proven.number
	m.conns.Add(from, c)
	m.begin(now, c)
	c.endpoint.stats.In++
	c.endpoint.handle(now, p, b)
	m.conns.Touch(c)
}

// askUnproven sends a sync.init: "one sync.init for each packet that it gets, and
// one each interval, 10 at most".
func (m *Mux) askUnproven(now time.Time, from netip.AddrPort, v *halfOpen) {
	if v.syncs >= maxUnprovenSyncs {
		return
	}
	v.syncs++
	v.sequence, v.sentAt = v.next, now
	v.next++
	m.reply(from, &Packet{Kind: KindSyncInit, Sequence: v.sequence}, &m.stats.Asked)
}

// askLater has an address asked again in an interval. A flood of forged acks cannot
// make the queue longer than the table of half-open connections: an address that is
// left out is asked when it sends again.
func (m *Mux) askLater(now time.Time, from netip.AddrPort) {
	if m.asked.Len() < maxAsked {
		m.asked.Push(askedSync{from, now.Add(m.askEvery())})
	}
}

// askEvery is the time between two sync.inits that an unproven address gets
// unasked. With less than a second, an init and an ack would be answered with more
// than three times their bytes in the 5 s that a half-open connection has.
func (m *Mux) askEvery() time.Duration { return max(m.cfg.SyncInterval, minAskEvery) }

// handleStranger answers a well-formed packet of someone without a connection:
// "an unreliable disconnect without a reason, 5 bytes, whose sequence is that of
// the packet (an ack's acknowledged one)"; "a disconnect is never answered".
func (m *Mux) handleStranger(now time.Time, from netip.AddrPort, p *Packet) {
	if p.Kind == KindDisconnect || !m.notices.Allow(now, m.source(from), 1) {
		m.stats.Strangers++
		return
	}
	sequence := p.Sequence
	if p.Kind == KindAck {
		sequence = p.Acked
	}
	m.reply(from, &Packet{Kind: KindDisconnect, Sequence: sequence}, &m.stats.Notices)
}

func (m *Mux) reject(to netip.AddrPort, why string) {
	m.reply(to, &Packet{Kind: KindReject, Sequence: 1, Reason: []byte(why)[:min(len(why), maxRejectReason)]}, &m.stats.Rejects)
}

// reply queues an answer to a datagram of an address without a connection, and counts it.
func (m *Mux) reply(to netip.AddrPort, p *Packet, counter *uint64) {
	var room [roster.MaxReply]byte
	if !m.replies.Put(to, p.AppendTo(room[:0])) {
		counter = &m.stats.Unsent
	}
	*counter++
}

// Shutdown says goodbye to all clients and admits no new ones.
func (m *Mux) Shutdown(now time.Time, reason string) {
	m.now, m.down, m.closing = now, true, reason
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
	if m.asked.Len() > 0 {
		if due := m.asked.First().due; !ok || due.Before(next) {
			next, ok = due, true
		}
	}
	if due, is := m.lobby.NextTimeout(); is && (!ok || due.Before(next)) {
		next, ok = due, true
	}
	return next, ok
}

// HandleTimeout does everything that is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	m.closeLate(now)
	for m.asked.Len() > 0 && !now.Before(m.asked.First().due) {
		addr := m.asked.Pop().addr
		m.asked.Trim()
		if v := m.half.Get(now, addr); v != nil && v.syncs < maxUnprovenSyncs {
			m.askUnproven(now, addr, v)
			m.askLater(now, addr)
		}
	}
	for c, ok := m.conns.Due(now); ok; c, ok = m.conns.Due(now) {
		c.endpoint.HandleTimeout(now)
		m.conns.Touch(c)
	}
}

// PollEvent returns the next event and its connection.
func (m *Mux) PollEvent() (c *Conn, ev Event, ok bool) {
	c = m.NextEvent(&ev)
	return c, ev, c != nil
}

// NextEvent is PollEvent, but writes the event to ev. It returns nil if there is no event.
func (m *Mux) NextEvent(ev *Event) *Conn {
	*ev = Event{}
	if m.forgotten != nil {
		delete(m.sources, m.forgotten)
		m.forgotten = nil
	}
	for !m.conns.Quiet() || m.wake() {
		c, _ := m.conns.Eventful()
		c.endpoint.now = m.now
		if c.endpoint.pollEvent(ev) {
			switch ev.Kind {
			case EventClosed:
				m.forget(c)
			case EventLinked:
				if c.endpoint.mayTalk() != nil || !c.Enter() { // one that we close enters no more
					*ev = Event{}
					continue
				}
			}
			return c
		}
		m.conns.Calm(c)
	}
	return nil
}

// Quiet reports whether PollEvent has nothing to return.
func (m *Mux) Quiet() bool { return m.conns.Quiet() }

// Idle reports whether nothing is kept for any address: no connection, timer, event, question or answer.
func (m *Mux) Idle() bool { return m.conns.Idle() && m.asked.Len() == 0 && m.replies.Len() == 0 }

// wake has a connection go on whose large message waited for room that there is now, if there is one.
func (m *Mux) wake() bool {
	if m.shared.partial == nil {
		return false
	}
	e, ok := m.shared.partial.Wake().(*Endpoint)
	if !ok {
		return false
	}
	c := m.conns.Get(e.peer)
	if c == nil {
		return false // it is not one of ours
	}
	m.conns.Touch(c)
	return true
}

// forget takes a closed connection out of the table. What it still has to send goes
// out first.
func (m *Mux) forget(c *Conn) {
	if m.last == c {
		m.last = nil
	}
	m.conns.Remove(c.endpoint.peer, c)
	m.lobby.Leave(c)
	m.ended.End(m.now, c.endpoint.peer, c.endpoint.number)
	m.stats.Ended++
	if len(m.sources) > 0 {
		m.forgotten = c
	}
	c.endpoint.Release()
	one := c.Stats()
	sums.Add(&m.past, &one)
}

// PollTransmit writes the next packet into buf and returns its address.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if n, to, ok := m.replies.MoveTo(buf); ok {
		return n, to, true
	}
	for c, ok := m.conns.Busy(); ok; c, ok = m.conns.Busy() {
		c.endpoint.now = m.now
		if n, to, ok := c.endpoint.PollTransmit(buf); ok {
			c.endpoint.wrote += uint32(n)
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

// Send sends a message to this client. The time is that of the Mux's latest Handle* or Advance. See
// Endpoint.Send.
func (c *Conn) Send(mode Mode, name string, data []byte) error {
	err := c.endpoint.Send(c.mux.now, mode, name, data)
	c.mux.conns.Load(c)
	return err
}

// Close ends the connection. See Endpoint.Close.
func (c *Conn) Close(reason string) {
	c.endpoint.Close(c.mux.now, reason)
	c.mux.conns.Touch(c)
}

// Peer returns the client's address. A session of a browser has one that is made up.
func (c *Conn) Peer() netip.AddrPort { return c.endpoint.peer }

// Source returns the client's true address, which rates, counts, bans and logs go by. After the connection's EventClosed was handled, it may
// return what Peer does.
func (c *Conn) Source() netip.AddrPort {
	if from, ok := c.mux.sources[c]; ok {
		return from
	}
	return c.endpoint.peer
}

// hasSource notes the true address of a client whose address is made up.
func (c *Conn) hasSource(from netip.AddrPort) {
	if source := admission.SourceOf(c.mux.cfg.Sessions, from); source != from {
		if c.mux.sources == nil {
			c.mux.sources = map[*Conn]netip.AddrPort{}
		}
		c.mux.sources[c] = source
	}
}

// RTT returns the smoothed round-trip time, 0 while it is unknown.
func (c *Conn) RTT() time.Duration { return c.endpoint.RTT() }

// Path returns what is known of the path to the client. Before the first Replicate nothing is.
func (c *Conn) Path() Path { return c.endpoint.sender.Path() }

// Unacked returns how many bytes of messages and values the client has not acknowledged, waiting ones included.
func (c *Conn) Unacked() int { return c.endpoint.sender.Pressure().Bytes }

// ServerTime returns the connection's clock in µs. Event.Time is a time of this clock.
func (c *Conn) ServerTime() uint64 { return c.endpoint.ServerTime(c.mux.now) }

// Bytes returns how many bytes of payload have come from the client, and how many were sent to it. Both counts wrap around.
func (c *Conn) Bytes() (in, out uint32) { return c.in, c.endpoint.wrote }

// Stats returns the counters of the connection.
func (c *Conn) Stats() Stats { return c.endpoint.Stats() }
