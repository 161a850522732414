package core

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
)

// Mux is the pure core of a server: its ports, their peers, and the lobby that decides about them. It has
// the methods of Endpoint for its first port. Each further port is a Port with the same methods. PollEvent
// returns the events of all ports.
//
// A call at one port may give another port something to send, or change its timeout: PollPort returns such
// ports.
type Mux struct {
	cfg     *Config
	rules   *Rules
	lobby   Lobby
	doorman Doorman // the lobby, if it is one
	shared  *Shared
	key     Key
	secret  *admission.Secret
	born    time.Time
	now     time.Time
	first   *Port
	opener  Opener
	ports   []*Port // the open ones, the first first
	peers   int
	down    bool

	dirty    queue.Fifo[*Port]
	eventful queue.Fifo[*Port]

	newcomers queue.Fifo[*Newcomer] // that the game is to be told of: see EntryLobby

	stats MuxStats
	past  Stats // of peers that have ended
}

// An Opener opens ports for a Mux: a server's shell, or a simulation.
type Opener interface {
	// OpenPort listens on a new port, passes its datagrams to p and sends those of p. It returns the
	// port's number.
	OpenPort(p *Port) (uint16, error)
}

// NewMux returns the core of a server. The key makes challenges and the tables of addresses unguessable.
// Without an opener (nil), no further port can be opened.
func NewMux(now time.Time, c Config, s *Shared, key Key, o Opener) *Mux {
	if c.Lobby == nil {
		c.Lobby = NewOpenLobby(OpenConfig{})
	}
	c.MaxPeers = cmp.Or(c.MaxPeers, 4096)
	m := &Mux{cfg: &c, lobby: c.Lobby, rules: c.Lobby.Rules().fill(), shared: s, key: key, born: now, now: now, opener: o}
	m.secret = admission.NewSecret(now, key)
	m.doorman, _ = c.Lobby.(Doorman)
	m.first = newPort(m)
	m.ports = append(m.ports, m.first)
	return m
}

// First returns the first port.
func (m *Mux) First() *Port { return m.first }

// Open opens another port. The lobby must close it.
func (m *Mux) Open() (*Port, error) {
	if m.opener == nil || m.down || len(m.ports) >= maxPorts {
		return nil, ErrNoPorts
	}
	p := newPort(m)
	number, err := m.opener.OpenPort(p)
	if err != nil {
		return nil, err
	}
	p.number = number
	m.ports = append(m.ports, p)
	return p, nil
}

// Len returns the number of peers, at all ports.
func (m *Mux) Len() int { return m.peers }

// Rand returns a random number for nonces. It is as unpredictable as the source that the Mux was given.
func (m *Mux) Rand() uint64 { return m.shared.Rand.Uint64() }

// Now returns the time of the latest call.
func (m *Mux) Now() time.Time { return m.now }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// Traffic returns the sum of the counters of all peers, ended ones included. It visits every peer.
func (m *Mux) Traffic() Stats {
	s := m.past
	for p := range m.Peers() {
		one := p.end.Stats()
		sums.Add(&s, &one)
	}
	for i := range m.eventful.Len() {
		if port := *m.eventful.At(i); port.closed { // and those that it had are not forgotten yet
			for p := range port.Peers() {
				one := p.end.Stats()
				sums.Add(&s, &one)
			}
		}
	}
	return s
}

// HandleGone ends the peer of a session that has ended: only the first port has sessions.
func (m *Mux) HandleGone(now time.Time, from netip.AddrPort) { m.first.HandleGone(now, from) }

// HandleDatagram takes a datagram at the first port.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.first.HandleDatagram(now, from, b)
}

// HandleTimeout does everything that is due at the first port.
func (m *Mux) HandleTimeout(now time.Time) { m.first.HandleTimeout(now) }

// NextTimeout returns when to call HandleTimeout next.
func (m *Mux) NextTimeout() (time.Time, bool) { return m.first.NextTimeout() }

// PollTransmit writes the next datagram of the first port.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) { return m.first.PollTransmit(buf) }

// PollEvent returns the next event and its peer, which is nil with EventPass. It also relays packages between peers, so it must be
// called even if events are not used.
func (m *Mux) PollEvent() (*Peer, Event, bool) {
	if m.newcomers.Len() > 0 {
		n := m.newcomers.Pop()
		m.newcomers.Trim()
		return nil, Event{Kind: EventPass, Newcomer: n}, true
	}
	for m.eventful.Len() > 0 {
		port := *m.eventful.First()
		for p, ok := port.peers.Eventful(); ok; p, ok = port.peers.Eventful() {
			if ev, ok := p.nextEvent(m.now); ok {
				return p, ev, true
			}
			port.peers.Calm(p)
		}
		port.eventful = false
		m.eventful.Pop()
	}
	return nil, Event{}, false
}

// PollPort returns the next port that has changed since it was last returned: its PollTransmit or
// NextTimeout has something new. A closed port is returned a last time when all its peers have been told.
func (m *Mux) PollPort() (*Port, bool) {
	if m.dirty.Len() == 0 {
		return nil, false
	}
	p := m.dirty.Pop()
	p.dirty = false
	return p, true
}

// Drained reports whether everybody has left after Shutdown.
func (m *Mux) Drained() bool { return m.down && m.peers == 0 }

// RoundTrips returns the round-trip times of all peers.
func (m *Mux) RoundTrips() Times { return m.shared.buffers.RoundTrips }

// Shutdown makes each peer leave when all packages to it are confirmed, and admits no new ones. Normally
// the peers are gone a round trip later. Peers that do not answer are gone after 10 s at most.
func (m *Mux) Shutdown(now time.Time, text string) {
	m.Advance(now)
	m.down = true
	for p := range m.Peers() {
		p.Close(text)
	}
}

// Abort is Shutdown without waiting for confirmations: each peer is told that it is out.
func (m *Mux) Abort(now time.Time, text string) {
	m.Shutdown(now, text)
	for p := range m.Peers() {
		p.Remove(Close{Reason: ReasonClosed, Text: text})
	}
}

// Ports yields the open ports, the first one first.
func (m *Mux) Ports() iter.Seq[*Port] { return slices.Values(m.ports) }

// Peers yields all peers, at all ports. Do not call PollEvent while ranging over them: it forgets peers
// that have ended.
func (m *Mux) Peers() iter.Seq[*Peer] {
	return func(yield func(*Peer) bool) {
		for _, port := range m.ports {
			for p := range port.Peers() {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Advance sets the time for calls on a Peer or a Room before the next Handle*. An earlier time is ignored.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}
