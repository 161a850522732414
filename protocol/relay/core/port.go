package core

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
	"parley/internal/roster"
	"parley/internal/timers"
)

// ErrNoPorts means that the server can open no further port.
var ErrNoPorts = errors.New("relay: no further port can be opened")

// Port is one port of a server: it knows its peers by their addresses. It has the methods of
// Endpoint, for all its peers.
type Port struct {
	mux     *Mux
	number  uint16
	peers   *roster.Roster[*Peer]
	direct  queue.Fifo[direct] // sent before the packages of the peers
	replies roster.Replies     // to strangers: challenges, refusals
	timers  timers.Heap[*Timer]
	ignored *admission.Ignored // nil before an address is ignored
	closed  bool

	dirty    bool // in Mux.dirty
	eventful bool // in Mux.eventful

	// Value is the lobby's own data for the port.
	Value any
}

// Mux returns the server of the port.
func (p *Port) Mux() *Mux { return p.mux }

// Number returns the port's number. It is 0 for the first port, unless SetNumber has set it.
func (p *Port) Number() uint16 { return p.number }

// SetNumber sets the number of the first port, for a lobby that needs it.
func (p *Port) SetNumber(n uint16) { p.number = n }

// Peer returns the peer of an address, nil if there is none.
func (p *Port) Peer(addr netip.AddrPort) *Peer { return p.peers.Get(admission.Canon(addr)) }

// Peers yields all peers of the port. Do not call PollEvent while ranging over them: it forgets
// peers that have ended.
func (p *Port) Peers() iter.Seq[*Peer] { return p.peers.All() }

// Len returns the number of peers of the port.
func (p *Port) Len() int { return p.peers.Len() }

// Closed reports whether the port was closed.
func (p *Port) Closed() bool { return p.closed }

// HandleDatagram takes a datagram from any address.
func (p *Port) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m := p.mux
	m.Advance(now)
	m.stats.In++
	from = admission.Canon(from)
	if c := p.peers.Get(from); c != nil {
		c.in += uint32(len(b))
		if !p.accepts(c, b) {
			m.stats.Throttled++
			return
		}
		if c.isTooMuch(b) {
			m.stats.Throttled++
			c.end.hears(m.now)
			return
		}
		m.stats.ToPeers++
		if c.overdrawn(b) {
			c.dropLoose(m.now, b)
			p.touch(c)
			return
		}
		c.end.handle(m.now, b)
		p.touch(c)
		return
	}
	var d Datagram
	switch {
	case p.closed || p.ignored != nil && p.ignored.Has(m.now, from):
		m.stats.Ignored++
	case !d.Parse(b):
		m.stats.Malformed++ // "An address that is in no room gets no answer but the lobby's."
	case d.Kind != KindPackage:
		p.introduce(m.now, from, d.IDs)
	default:
		p.admit(m.now, from, &d, b)
	}
}

// HandleGone ends the peer of a session that has ended, as a time-out would later.
func (p *Port) HandleGone(now time.Time, from netip.AddrPort) {
	p.mux.Advance(now)
	if c := p.peers.Get(from); c != nil && c.end.state != StateClosed {
		c.end.now = p.mux.now
		why := Close{Reason: ReasonSilent, Text: carrierEnded}
		if c.end.state == StateLeaving {
			why = c.end.closing.close
		}
		c.end.end(why, false)
		p.touch(c)
	}
}

// carrierEnded says what has become of a session.
const carrierEnded = "its carrier has ended"

// admit asks the lobby about a package of a stranger. An empty unreliable one to the server
// says that someone leaves, who is not here: it is not asked about.
func (p *Port) admit(now time.Time, from netip.AddrPort, d *Datagram, b []byte) {
	m := p.mux
	leave := d.Mode == Unreliable && d.ToServer && len(d.Payload) == 0
	far := d.Mode.Reliable() && p.isFar(from, d.ID)
	if m.down || leave || far {
		m.stats.Strangers++
		return
	}
	first := Package{Mode: d.Mode, Server: d.ToServer, ID: d.ID, Payload: d.Payload}
	if m.peers >= m.cfg.MaxPeers {
		m.stats.Full++
		if l, ok := m.lobby.(fullTeller); ok {
			l.full(now, p, from, first)
		}
		return
	}
	seat, ok := m.lobby.Admit(now, p, from, first)
	if !ok {
		m.stats.Refused++
		return
	}
	if c := p.enter(now, from, seat); p.accepts(c, b) {
		c.end.handle(now, b)
	}
}

// enter makes a stranger a peer that its lobby admitted.
func (p *Port) enter(now time.Time, from netip.AddrPort, seat any) *Peer {
	p.mux.stats.Admitted++
	c := p.add(from, seat)
	p.mux.lobby.Enter(now, c)
	p.touch(c)
	return c
}

// fullTeller is a lobby that has something to say when there are too many peers.
type fullTeller interface {
	full(now time.Time, port *Port, from netip.AddrPort, first Package)
}

// Invite makes an address a peer of the port although nothing has come from it there: a lobby
// may answer at another port than the one that was asked. seat becomes the peer's Seat, and
// Enter is not called. A known peer is returned unchanged. Invite returns nil if the port is
// closed or there are too many peers.
func (p *Port) Invite(addr netip.AddrPort, seat any) *Peer {
	m := p.mux
	addr = admission.Canon(addr)
	if c := p.peers.Get(addr); c != nil {
		return c
	}
	if p.closed || m.down || m.peers >= m.cfg.MaxPeers {
		return nil
	}
	c := p.add(addr, seat)
	p.touch(c)
	return c
}

func (p *Port) add(addr netip.AddrPort, seat any) *Peer {
	m := p.mux
	m.peers++
	c := &Peer{port: p, end: newEndpoint(m.now, addr, false, m.rules, m.shared, 0), Seat: seat}
	if m.doorman != nil {
		c.end.resume(m.now, m.doorman.Resume(p, addr))
	}
	if from := admission.SourceOf(m.cfg.Sessions, addr); from != addr {
		c.end.seldom().source = from
	}
	p.peers.Add(addr, c)
	return c
}

// load notes that a peer was given something to send.
func (p *Port) load(c *Peer) {
	c.busy = true
	p.peers.Load(c)
	p.note()
}

// touch notes that a peer was called: it may have events and datagrams.
func (p *Port) touch(c *Peer) {
	c.stirred, c.busy = true, true
	p.peers.Touch(c)
	p.note()
	if !p.eventful {
		p.eventful = true
		p.mux.eventful.Push(p)
	}
}

// note notes that the port may have something to send, or another time to be called at.
func (p *Port) note() {
	if !p.dirty {
		p.dirty = true
		p.mux.dirty.Push(p)
	}
}

// NextTimeout returns when to call HandleTimeout next. It is valid once PollTransmit has
// returned false.
func (p *Port) NextTimeout() (time.Time, bool) {
	at, ok := p.peers.NextTimeout()
	if _, t, any := p.timers.First(); any && (!ok || t.Before(at)) {
		return t, true
	}
	return at, ok
}

// HandleTimeout does everything that is due for all peers, and the lobby's timers.
func (p *Port) HandleTimeout(now time.Time) {
	m := p.mux
	m.Advance(now)
	for c, ok := p.peers.Due(m.now); ok; c, ok = p.peers.Due(m.now) {
		c.end.HandleTimeout(m.now)
		p.touch(c)
	}
	// One that sets itself again for now is left for the next time.
	for range p.timers.Len() {
		t, at, ok := p.timers.First()
		if !ok || at.After(m.now) {
			return
		}
		p.timers.Set(t, time.Time{}, false)
		t.do(m.now)
	}
}

// PollTransmit writes the next datagram into buf, which has at least MaxDatagram bytes, and
// returns its address.
func (p *Port) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if p.direct.Len() > 0 {
		p.mux.stats.Out++
		n, to := p.transmitDirect(buf)
		return n, to, true
	}
	if n, to, ok := p.replies.MoveTo(buf); ok {
		p.mux.stats.Out++
		return n, to, true
	}
	for c, ok := p.peers.Busy(); ok; c, ok = p.peers.Busy() {
		c.end.now = p.mux.now
		if n, to, ok := c.end.PollTransmit(buf); ok {
			c.out += uint32(n)
			p.mux.stats.Out++
			if roster.Gone(&c.member) {
				p.mux.past.Out++ // its counters were taken over before this
			}
			return n, to, true
		}
		if roster.Gone(&c.member) {
			c.end.letGo(false)
		}
		at, ok := p.restUntil(c)
		c.busy = false
		p.peers.Rest(c, at, ok)
	}
	return 0, netip.AddrPort{}, false
}

// restUntil returns when a peer wants to be called. A package more that was sent to it is not
// due to be resent before those that were sent earlier, so that what it said then still holds,
// unless each is sent again ahead of loss.
func (p *Port) restUntil(c *Peer) (time.Time, bool) {
	if !c.stirred && !c.end.paid && !c.end.sender.Doubling() && c.end.sender.Pressure().Packets == 0 && c.rested.Sub(p.mux.now) < p.mux.rules.send.MinRTO {
		return c.rested, true
	}
	at, ok := c.nextTimeout()
	c.rested, c.stirred, c.end.paid = at, !ok, false
	return at, ok
}

// forget takes a peer that is over out of the table, and its room. What it still has to send
// goes out first. It "is ignored for 10 s; it starts again at id 0 from a new port".
func (p *Port) forget(now time.Time, c *Peer) {
	if c.room != nil {
		c.room.Remove(c)
	}
	p.mux.lobby.Gone(now, c, c.end.closing.close)
	c.end.forget()
	p.peers.Remove(c.end.peer, c)
	if !c.end.spared {
		if p.ignored == nil {
			p.ignored = admission.NewIgnored(p.mux.key)
		}
		p.ignored.Add(now, c.end.peer)
	}
	p.mux.peers--
	p.mux.stats.Gone++
	one := c.end.Stats()
	sums.Add(&p.mux.past, &one)
}

// Close closes the port: its peers are told, and further datagrams are ignored. The first port
// closes only with its server. The time is that of the latest call of the Mux.
func (p *Port) Close() {
	if p.closed || p == p.mux.first {
		return
	}
	p.closed = true
	for c := range p.peers.All() {
		c.Remove(Close{Reason: ReasonPort})
	}
	for p.timers.Len() > 0 {
		t, _, _ := p.timers.First()
		t.Stop()
	}
	m := p.mux
	m.ports = slices.DeleteFunc(m.ports, func(q *Port) bool { return q == p })
	p.note()
}

// Timer is a lobby's timer at a port.
type Timer struct {
	//lint:ignore U1000 the heap reaches it by a method of its own
	timer
	port *Port
	do   func(now time.Time)
}

// timer is embedded by a name that its users do not see.
//
//lint:ignore U1000 as the field
type timer = timers.Timer

// NewTimer returns a timer that is not set. HandleTimeout calls its function.
func (p *Port) NewTimer(do func(now time.Time)) *Timer { return &Timer{port: p, do: do} }

// Set sets the time at which the timer fires, and replaces an earlier one. At a closed port it
// does nothing.
func (t *Timer) Set(at time.Time) {
	if t.port.closed {
		return
	}
	t.port.timers.Set(t, at, true)
	t.port.note()
}

// Stop stops the timer.
func (t *Timer) Stop() { t.port.timers.Set(t, time.Time{}, false) }

// MuxStats counts the fates of datagrams and of peers, at all ports.
type MuxStats struct {
	In        uint64 // datagrams: the sum of the eight below
	ToPeers   uint64 // for a peer: see its Stats
	Admitted  uint64 // from a stranger that was admitted; a peer's Stats count it too
	Refused   uint64 // from a stranger that the lobby refused
	Full      uint64 // from a stranger when there were too many peers
	Ignored   uint64 // from a peer that was removed, or at a closed port
	Malformed uint64 // from a stranger, and not valid
	Strangers uint64 // from a stranger, and of a kind that cannot admit it
	Throttled uint64 // packages refused for now, by the lobby or as too many of that peer wait: they are not confirmed and come again

	Answered   uint64 // datagrams to strangers: challenges and refusals
	Unanswered uint64 // challenges and refusals that were not sent, as too many waited for the socket

	Relayed uint64 // packages that were relayed
	Copies  uint64 // copies of these that were sent, one for each receiver
	Unsaid  uint64 // packages of the server's own that a peer did not get because too much was waiting for it
	ToGame  uint64 // packages that the game got
	Out     uint64 // datagrams sent
	Gone    uint64 // peers that have ended
}

// Check returns an error if the counters do not add up.
func (s *MuxStats) Check() error {
	sum := s.ToPeers + s.Admitted + s.Refused + s.Full + s.Ignored + s.Malformed + s.Strangers + s.Throttled
	if sum != s.In {
		return fmt.Errorf("relay: %d datagrams came, but the fate of %d is known", s.In, sum)
	}
	return nil
}

func newPort(m *Mux) *Port { return &Port{mux: m, peers: roster.New[*Peer]()} }
