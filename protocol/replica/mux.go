package replica

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"parley/internal/admission"
	"parley/internal/timers"
)

// Mux is the pure core of a server: it sends each datagram to the endpoint of
// its address, lets newcomers in and answers strangers. It follows the seam of
// Endpoint, with all connections behind it.
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
	asked   askedQueue // half-open connections that are owed a sync.init

	store    Store
	conns    map[netip.AddrPort]*Conn
	list     []*Conn // the same in an order that a seed repeats
	timers   timers.Heap[*Conn]
	busy     []*Conn // with packets to poll
	eventful []*Conn // with events to poll
	replies  []reply

	stats MuxStats
}

// MuxStats counts what became of datagrams that belong to no connection, and of
// connections.
type MuxStats struct {
	Malformed uint64 // from an address without a connection
	Deferred  uint64 // inits that were not answered, as too many are open
	Accepts   uint64 // accepts sent
	Rejects   uint64 // rejects sent
	Unproven  uint64 // packets of addresses that are not proven yet
	Notices   uint64 // notices to strangers
	Strangers uint64 // packets of strangers that were not answered
	Opened    uint64 // connections
	Ended     uint64
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

// askedQueue is a queue of addresses by the time of their next sync.init, which
// is one interval after the last. It is bounded by maxAsked: a flood of forged
// acks cannot make it longer, and who is left out is asked when it sends again.
type askedQueue struct {
	list []askedSync
	head int
}

type askedSync struct {
	addr netip.AddrPort
	due  time.Time
}

const maxAsked = 4096

func (q *askedQueue) push(a askedSync) {
	if len(q.list)-q.head >= maxAsked {
		return
	}
	if len(q.list) == cap(q.list) && q.head > 0 {
		q.list = q.list[:copy(q.list, q.list[q.head:])]
		q.head = 0
	}
	q.list = append(q.list, a)
}

func (q *askedQueue) first() (askedSync, bool) {
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
		return askedSync{}, false
	}
	return q.list[q.head], true
}

type reply struct {
	to   netip.AddrPort
	data [32]byte
	n    uint8
}

// Conn is a server's connection. It is owned by the goroutine that calls the Mux.
type Conn struct {
	*Endpoint
	timers.Timer
	mux      *Mux
	number   uint32
	queued   bool // in busy
	eventful bool // in eventful
	gone     bool // its closed event was delivered
	index    int  // in Mux.list
}

// NewMux returns the core of a server. The key makes its clocks unguessable.
func NewMux(now time.Time, c Config, s *Shared, key admission.Key) *Mux {
	return &Mux{
		cfg: c.fill(), shared: s, epoch: now, now: now,
		secret:  admission.NewSecret(now, key),
		half:    admission.NewHalfOpen[halfOpen](admission.HalfOpenConfig{}, key),
		ended:   admission.NewEnded(key),
		notices: admission.NewBuckets(admission.BucketsConfig{}, key),
		conns:   map[netip.AddrPort]*Conn{},
	}
}

// Store returns what the server replicates.
func (m *Mux) Store() *Store { return &m.store }

// Conn returns the connection of an address, nil if there is none.
func (m *Mux) Conn(addr netip.AddrPort) *Conn { return m.conns[admission.Canon(addr)] }

// Conns yields all connections. None may be forgotten meanwhile: PollEvent is not
// called from within.
func (m *Mux) Conns() iter.Seq[*Conn] { return slices.Values(m.list) }

// Replicate sends each client what has changed for it, within budget bytes each.
// Call it once a tick.
func (m *Mux) Replicate(budget int) {
	for _, c := range m.list {
		c.Replicate(budget)
	}
}

// Len returns how many connections there are.
func (m *Mux) Len() int { return len(m.conns) }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// HandleDatagram takes a datagram from anyone.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.now = now
	from = admission.Canon(from)
	if c := m.conns[from]; c != nil {
		c.HandleDatagram(now, from, b)
		m.touch(c)
		return
	}
	var p Packet
	if !p.Parse(FromClient, b) {
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

// handleInit answers someone who wants to connect: "The server answers each init
// of a handshake with an accept, sequence 1, fresh times".
func (m *Mux) handleInit(now time.Time, from netip.AddrPort, p *Packet) {
	switch {
	case m.down:
		m.reject(from, m.closing)
		return
	case len(m.conns) >= m.cfg.MaxConns:
		m.reject(from, "server full")
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
	m.stats.Accepts++
	m.reply(from, &Packet{
		Kind: KindAccept, Reliable: true, Sequence: 1, Extended: v.extended,
		Received: t, Sent: t, SyncInterval: uint32(m.cfg.SyncInterval.Microseconds()),
	})
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
	told := p.Kind == KindMessage && within(p.Time, t) ||
		p.Kind == KindSyncAck && within(p.Sent, t) && within(p.Received, t)
	if !told {
		m.stats.Unproven++
		if !v.acked {
			v.acked = true
			m.asked.push(askedSync{from, now.Add(m.askEvery())})
		}
		m.askUnproven(now, from, v)
		return
	}
	proven, _ := m.half.Prove(now, from)
	switch {
	case m.down:
		m.reject(from, m.closing)
		return
	case len(m.conns) >= m.cfg.MaxConns:
		m.reject(from, "server full")
		return
	}
	m.stats.Opened++
	c := &Conn{mux: m, number: proven.number}
	c.Endpoint = newServer(now, from, m.cfg, m.shared, proven.extended, t, uint64(proven.next))
	if proven.syncs > 0 {
		c.sync.note(proven.sequence, proven.sentAt)
	}
	c.link.store = &m.store
	m.conns[from] = c
	c.index = len(m.list)
	m.list = append(m.list, c)
	c.stats.In++
	c.handle(now, p, b)
	m.touch(c)
}

func within(t, clock uint64) bool {
	d := int64(t - clock)
	return d >= -clockSlack.Microseconds() && d <= clockSlack.Microseconds()
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
	m.reply(from, &Packet{Kind: KindSyncInit, Sequence: v.sequence})
}

// askEvery is the time between two sync.inits that an unproven address gets
// unasked. With less than a second, an init and an ack would be answered with more
// than three times their bytes in the 5 s that a half-open connection has.
func (m *Mux) askEvery() time.Duration { return max(m.cfg.SyncInterval, minAskEvery) }

// handleStranger answers a well-formed packet of someone without a connection:
// "an unreliable disconnect without a reason, 5 bytes, whose sequence is that of
// the packet (an ack's acknowledged one)"; "a disconnect is never answered".
func (m *Mux) handleStranger(now time.Time, from netip.AddrPort, p *Packet) {
	if p.Kind == KindDisconnect || !m.notices.Allow(now, from.Addr(), 1) {
		m.stats.Strangers++
		return
	}
	sequence := p.Sequence
	if p.Kind == KindAck {
		sequence = p.Acked
	}
	m.stats.Notices++
	m.reply(from, &Packet{Kind: KindDisconnect, Sequence: sequence})
}

func (m *Mux) reject(to netip.AddrPort, why string) {
	m.stats.Rejects++
	m.reply(to, &Packet{Kind: KindReject, Sequence: 1, Reason: []byte(why)[:min(len(why), maxRejectReason)]})
}

// reply queues a packet to an address without a connection; at most 32 bytes, as
// all such packets are. One answer a datagram keeps the queue short.
func (m *Mux) reply(to netip.AddrPort, p *Packet) {
	r := reply{to: to}
	r.n = uint8(len(p.AppendTo(r.data[:0])))
	m.replies = append(m.replies, r)
}

// Shutdown says goodbye to all and lets no one in.
func (m *Mux) Shutdown(now time.Time, reason string) {
	m.now, m.down, m.closing = now, true, reason
	for _, c := range m.list {
		c.Close(reason)
	}
}

// NextTimeout returns when HandleTimeout is to be called next.
func (m *Mux) NextTimeout() (time.Time, bool) {
	_, next, ok := m.timers.First()
	if a, any := m.asked.first(); any && (!ok || a.due.Before(next)) {
		next, ok = a.due, true
	}
	return next, ok
}

// HandleTimeout does what is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	for a, ok := m.asked.first(); ok && !now.Before(a.due); a, ok = m.asked.first() {
		m.asked.head++
		if v := m.half.Get(now, a.addr); v != nil && v.syncs < maxUnprovenSyncs {
			m.askUnproven(now, a.addr, v)
			m.asked.push(askedSync{a.addr, now.Add(m.askEvery())})
		}
	}
	for {
		c, at, ok := m.timers.First()
		if !ok || at.After(now) {
			return
		}
		m.timers.Set(c, at, false)
		c.HandleTimeout(now)
		m.touch(c)
	}
}

// touch notes that a connection was called: it may have events and packets. Its
// timer is set when its packets have been polled, as some of what it waits for is
// that they go out.
func (m *Mux) touch(c *Conn) {
	if !c.queued {
		c.queued = true
		m.busy = append(m.busy, c)
	}
	if !c.eventful {
		c.eventful = true
		m.eventful = append(m.eventful, c)
	}
}

// PollEvent returns the next event and whose it is.
func (m *Mux) PollEvent() (*Conn, Event, bool) {
	for len(m.eventful) > 0 {
		c := m.eventful[len(m.eventful)-1]
		c.now = m.now
		ev, ok := c.PollEvent()
		if !ok {
			c.eventful = false
			m.eventful[len(m.eventful)-1] = nil
			m.eventful = m.eventful[:len(m.eventful)-1]
			continue
		}
		if ev.Kind == EventClosed {
			m.forget(c)
		}
		return c, ev, true
	}
	return nil, Event{}, false
}

// forget takes a closed connection out of the table. What it still has to send
// goes out first.
func (m *Mux) forget(c *Conn) {
	delete(m.conns, c.peer)
	last := m.list[len(m.list)-1]
	m.list[c.index], last.index = last, c.index
	m.list[len(m.list)-1] = nil
	m.list = m.list[:len(m.list)-1]
	m.ended.End(m.now, c.peer, c.number)
	m.stats.Ended++
	c.gone = true
	c.Release()
	m.timers.Set(c, time.Time{}, false)
}

// PollTransmit writes the next packet into buf and says where it goes.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(m.replies) > 0 {
		r := &m.replies[len(m.replies)-1]
		n, to := copy(buf, r.data[:r.n]), r.to
		m.replies = m.replies[:len(m.replies)-1]
		return n, to, true
	}
	for len(m.busy) > 0 {
		c := m.busy[len(m.busy)-1]
		c.now = m.now
		if n, to, ok := c.PollTransmit(buf); ok {
			return n, to, true
		}
		c.queued = false
		m.busy[len(m.busy)-1] = nil
		m.busy = m.busy[:len(m.busy)-1]
		if !c.gone {
			at, ok := c.NextTimeout()
			m.timers.Set(c, at, ok)
		}
	}
	return 0, netip.AddrPort{}, false
}

// Advance tells the time to what a Conn is asked to do before the next Handle*.
// It does not go back.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}

// Send sends a message to this client now, which is the time of the newest call
// of the Mux's Handle* or Advance. See Endpoint.Send.
func (c *Conn) Send(mode Mode, name string, data []byte) error {
	defer c.mux.touch(c)
	return c.Endpoint.Send(c.mux.now, mode, name, data)
}

// Close says goodbye to this client now. See Endpoint.Close.
func (c *Conn) Close(reason string) {
	c.Endpoint.Close(c.mux.now, reason)
	c.mux.touch(c)
}
