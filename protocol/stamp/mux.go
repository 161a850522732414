package stamp

import (
	"fmt"
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
//
// It keeps nothing of a handshake: the clock of an accept can be made again when the
// ack of it comes (see clock), so a flood of inits costs answers and no memory.
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

	conns    map[netip.AddrPort]*Conn
	list     []*Conn // the same in an order that a seed repeats
	timers   timers.Heap[*Conn]
	busy     fifo[*Conn] // with packets to poll
	eventful fifo[*Conn] // with events to poll
	replies  fifo[reply]

	stats MuxStats
}

// MuxStats counts what became of each datagram, and of connections.
type MuxStats struct {
	In        uint64 // datagrams: the sum of the eight below
	ToConns   uint64 // for a connection: see its Stats
	Malformed uint64 // from an address without a connection
	Accepts   uint64 // inits answered with an accept
	Rejects   uint64 // inits and acks answered with a rejection
	Opened    uint64 // acks that opened a connection
	Notices   uint64 // acks of strangers answered with a notice
	Strangers uint64 // packets of strangers that were not answered
	Unsent    uint64 // not answered because the socket was behind

	Ended uint64 // connections that are over
}

// Check returns an error if the counters do not add up.
func (s *MuxStats) Check() error {
	sum := s.ToConns + s.Malformed + s.Accepts + s.Rejects + s.Opened + s.Notices + s.Strangers + s.Unsent
	if sum != s.In {
		return fmt.Errorf("stamp: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

// reply is an answer to an address without a connection.
type reply struct {
	to   netip.AddrPort
	n    uint8
	data [maxReplyBytes]byte
}

// maxReplyBytes is the size of a rejection with the longest reason.
const maxReplyBytes = HeaderBytes + 2 + maxRejectReason

// Conn is a server's connection. It is owned by the goroutine that calls the Mux.
type Conn struct {
	*Endpoint
	timers.Timer
	mux      *Mux
	number   uint32 // of the clock
	index    int    // in Mux.list
	queued   bool   // in busy
	eventful bool   // in eventful
	gone     bool   // its closed event was delivered
}

// NewMux returns the core of a server. The key makes its clocks unguessable.
func NewMux(now time.Time, c Config, s *Shared, key admission.Key) *Mux {
	return &Mux{
		cfg: c.fill(), shared: s, epoch: now, now: now,
		secret:  admission.NewSecret(now, key),
		ended:   admission.NewEnded(key),
		notices: admission.NewBuckets(admission.BucketsConfig{}, key),
		conns:   map[netip.AddrPort]*Conn{},
	}
}

// Conn returns the connection of an address, nil if there is none.
func (m *Mux) Conn(addr netip.AddrPort) *Conn { return m.conns[admission.Canon(addr)] }

// Conns yields all connections. None may be forgotten meanwhile: PollEvent is not called
// from within.
func (m *Mux) Conns() iter.Seq[*Conn] { return slices.Values(m.list) }

// Len returns how many connections there are.
func (m *Mux) Len() int { return len(m.conns) }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// HandleDatagram takes a datagram from anyone.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.now = now
	m.stats.In++
	from = admission.Canon(from)
	if c := m.conns[from]; c != nil {
		m.stats.ToConns++
		if c.state != StateClosed {
			c.handle(now, b)
			m.touch(c)
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

// Shutdown says goodbye to all and lets no one in.
func (m *Mux) Shutdown(now time.Time, reason string) {
	m.now, m.down, m.farewell = now, true, reason
	for _, c := range m.list {
		c.Close(reason)
	}
}

// NextTimeout returns when HandleTimeout is to be called next. It counts once
// PollTransmit has returned false.
func (m *Mux) NextTimeout() (time.Time, bool) {
	_, next, ok := m.timers.First()
	return next, ok
}

// HandleTimeout does what is due for all connections.
func (m *Mux) HandleTimeout(now time.Time) {
	m.now = now
	for {
		c, at, ok := m.timers.First()
		if !ok || at.After(now) {
			return
		}
		// What a connection waits for may be just to be polled, so its next time
		// is known only then: see PollTransmit.
		m.timers.Set(c, time.Time{}, false)
		c.HandleTimeout(now)
		m.touch(c)
	}
}

// touch notes that a connection was called: it may have events and packets.
func (m *Mux) touch(c *Conn) {
	if !c.queued {
		c.queued = true
		m.busy.push(c)
	}
	if !c.eventful {
		c.eventful = true
		m.eventful.push(c)
	}
}

// PollEvent returns the next event and whose it is.
func (m *Mux) PollEvent() (*Conn, Event, bool) {
	for m.eventful.len() > 0 {
		c := *m.eventful.first()
		c.now = m.now
		if ev, ok := c.PollEvent(); ok {
			if ev.Kind == EventClosed {
				m.forget(c)
			}
			return c, ev, true
		}
		c.eventful = false
		m.eventful.pop()
	}
	return nil, Event{}, false
}

// forget takes a closed connection out of the table. What it still has to send goes
// out first.
func (m *Mux) forget(c *Conn) {
	delete(m.conns, c.peer)
	last := m.list[len(m.list)-1]
	m.list[c.index], last.index = last, c.index
	m.list[len(m.list)-1] = nil
	m.list = m.list[:len(m.list)-1]
	m.ended.End(m.now, c.peer, c.number)
	m.stats.Ended++
	c.gone = true
	m.timers.Set(c, time.Time{}, false)
}

// PollTransmit writes the next packet into buf, which has at least MaxPacket bytes,
// and says where it goes.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if m.replies.len() > 0 {
		r := m.replies.first()
		n, to := copy(buf, r.data[:r.n]), r.to
		m.replies.pop()
		return n, to, true
	}
	for m.busy.len() > 0 {
		c := *m.busy.first()
		c.now = m.now
		if n, to, ok := c.PollTransmit(buf); ok {
			return n, to, true
		}
		c.queued = false
		m.busy.pop()
		if !c.gone {
			at, ok := c.NextTimeout()
			m.timers.Set(c, at, ok)
		}
	}
	return 0, netip.AddrPort{}, false
}

// Advance tells the time to what a Conn is asked to do before the next Handle*. It
// does not go back.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}

// Send sends an entity packet to this client now, which is the time of the newest call of
// the Mux's Handle* or Advance. See Endpoint.Send.
func (c *Conn) Send(mode Mode, data []byte) error {
	err := c.Endpoint.Send(c.mux.now, mode, data)
	c.mux.touch(c)
	return err
}

// SendReport sends an entity packet whose fate is told. See Endpoint.SendReport.
func (c *Conn) SendReport(data []byte, tag uint32) error {
	err := c.Endpoint.SendReport(c.mux.now, data, tag)
	c.mux.touch(c)
	return err
}

// Close says goodbye to this client now. See Endpoint.Close.
func (c *Conn) Close(reason string) {
	c.Endpoint.Close(c.mux.now, reason)
	c.mux.touch(c)
}
