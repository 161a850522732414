package relay

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"parley/internal/admission"
	"parley/internal/queue"
)

// Mux is the pure core of a server: its ports, the peers there, and the lobby that says what
// becomes of them. It follows the seam of Endpoint for its first port; each further one
// is a Port with the same methods. Events are those of all ports.
//
// A call at one port may give another one something to send, or another time to be called
// at: PollPort says which.
type Mux struct {
	cfg     *Config
	rules   *Rules
	lobby   Lobby
	doorman Doorman // the lobby, if it is one
	shared  *Shared
	key     admission.Key
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

	stats MuxStats
	past  Stats // of the peers that are over
}

// An Opener opens ports for a Mux: a server's shell, or a simulation.
type Opener interface {
	// OpenPort listens on a new port, hands what comes to p and sends what it has. It
	// returns the port's number.
	OpenPort(p *Port) (uint16, error)
}

// NewMux returns the core of a server. The key makes challenges and the tables of addresses unguessable. A
// nil opener can open no further port.
func NewMux(now time.Time, c Config, s *Shared, key admission.Key, o Opener) *Mux {
	if c.Lobby == nil {
		c.Lobby = NewOpenLobby(OpenConfig{})
	}
	orElse(&c.MaxPeers, 4096)
	m := &Mux{cfg: &c, lobby: c.Lobby, rules: c.Lobby.Rules().fill(), shared: s, key: key, born: now, now: now, opener: o}
	m.secret = admission.NewSecret(now, key)
	m.doorman, _ = c.Lobby.(Doorman)
	m.first = newPort(m)
	m.ports = append(m.ports, m.first)
	return m
}

// First returns the first port.
func (m *Mux) First() *Port { return m.first }

// Open opens another port. The lobby closes it.
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

// Len returns how many peers there are, at all ports.
func (m *Mux) Len() int { return m.peers }

// Rand returns a random number, for nonces: as hard to foresee as the source that the Mux
// was given.
func (m *Mux) Rand() uint64 { return m.shared.Rand.Uint64() }

// Now returns the time of the newest call.
func (m *Mux) Now() time.Time { return m.now }

// Stats returns the counters.
func (m *Mux) Stats() MuxStats { return m.stats }

// Traffic returns the counters of all peers together, of those that are over too. It looks at each that
// there is.
func (m *Mux) Traffic() Stats {
	s := m.past
	for p := range m.Peers() {
		one := p.Stats()
		sums.Add(&s, &one)
	}
	for i := range m.eventful.Len() {
		if port := *m.eventful.At(i); port.closed { // and those that it had are not forgotten yet
			for p := range port.Peers() {
				one := p.Stats()
				sums.Add(&s, &one)
			}
		}
	}
	return s
}

// HandleDatagram takes a datagram at the first port.
func (m *Mux) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	m.first.HandleDatagram(now, from, b)
}

// HandleTimeout does what is due at the first port.
func (m *Mux) HandleTimeout(now time.Time) { m.first.HandleTimeout(now) }

// NextTimeout returns when HandleTimeout is to be called next.
func (m *Mux) NextTimeout() (time.Time, bool) { return m.first.NextTimeout() }

// PollTransmit writes the next datagram of the first port.
func (m *Mux) PollTransmit(buf []byte) (int, netip.AddrPort, bool) { return m.first.PollTransmit(buf) }

// PollEvent returns the next event and whose it is. What peers send to each other is passed
// on from here too, so it is to be called also by who has no use for events.
func (m *Mux) PollEvent() (*Peer, Event, bool) {
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

// PollPort returns the next port that was touched since it was last returned here: its
// PollTransmit and NextTimeout have something new to say. A closed one comes a last time when
// nobody is left to tell.
func (m *Mux) PollPort() (*Port, bool) {
	if m.dirty.Len() == 0 {
		return nil, false
	}
	p := m.dirty.Pop()
	p.dirty = false
	return p, true
}

// Shutdown has all peers leave when what was sent to them is confirmed, and lets no one in.
// In an orderly world the peers are gone a round trip later, and those that do not answer in
// 10 s at most.
func (m *Mux) Shutdown(now time.Time, text string) {
	m.Advance(now)
	m.down = true
	for p := range m.Peers() {
		p.Close(text)
	}
}

// Ports yields the open ports, the first one first.
func (m *Mux) Ports() iter.Seq[*Port] { return slices.Values(m.ports) }

// Peers yields all peers, at all ports. None may be forgotten meanwhile: PollEvent is not
// called from within.
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

// Advance tells the time to what a Peer or a Room is asked to do before the next Handle*. It
// does not go back.
func (m *Mux) Advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}
