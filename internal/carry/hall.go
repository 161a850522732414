package carry

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/admission"
	"parley/internal/bans"
	"parley/internal/way"
)

// Errors of Open and OpenStream.
var (
	ErrHasty   = errors.New("carry: too many sessions from this address in a second")
	ErrCrowded = errors.New("carry: too many sessions")
	ErrBanned  = errors.New("carry: this address is banned")
	ErrClosed  = errors.New("carry: the server is closing")
)

// Config sets up the sessions of a server, for all dialects. The zero Config is usable.
type Config struct {
	// Banned reports whether an address is banned. Default: nobody is.
	Banned func(now time.Time, addr netip.Addr) bool

	// Most bounds all sessions, and OfHost those of an address (in IPv6, of a /64). Default 16,384 and 320. A negative OfHost is no limit,
	// also for how fast sessions begin.
	Most, OfHost int
}

// Building has the sessions of all dialects of a server, and counts them by address. Its methods are for any goroutine.
type Building struct {
	config Config

	// sources is Hall. As it is a value, a program that makes no building does not have the code: a game that imports package parley is light.
	sources func(dialect string) admission.Sources

	mu    sync.Mutex
	rates *admission.Buckets // nil: no limits
	crowd *admission.Crowd
	halls map[string]*Hall
}

// NewBuilding returns a building without halls.
func NewBuilding(c Config) *Building {
	if c.Most <= 0 {
		c.Most = defaultMost
	}
	if c.OfHost == 0 {
		c.OfHost = defaultOfHost
	}
	b := &Building{config: c, crowd: admission.NewCrowd(c.OfHost), halls: map[string]*Hall{}}
	b.sources = func(dialect string) admission.Sources { return b.Hall(dialect) }
	if c.OfHost > 0 {
		var key admission.Key
		cryptorand.Read(key[:])
		b.rates = admission.NewBuckets(admission.BucketsConfig{Source: openRate, Prefix: openNetwork, Total: admission.NoLimit}, key)
	}
	return b
}

// UseBans has a building that has no halls yet keep out the banned. A nil Building is left alone.
func (b *Building) UseBans(banned func(now time.Time, addr netip.Addr) bool) {
	if b != nil {
		b.config.Banned = banned
	}
}

// Sessions returns the hall of a dialect for the dialect's configuration, nil for a nil Building: see HallOf.
func (b *Building) Sessions(dialect string) admission.Sources {
	if b == nil {
		return nil
	}
	return b.sources(dialect)
}

// Hall returns the hall of a dialect, which is made with the first call.
func (b *Building) Hall(dialect string) *Hall {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.halls[dialect]
	if h == nil {
		h = &Hall{building: b, door: bans.NewDoor(b.config.Banned), sessions: map[netip.Addr]*Session{}, streams: map[*StreamSession]struct{}{}, kinds: map[netip.AddrPort]way.Kind{}, closed: make(chan struct{}), less: make(chan struct{}, 1)}
		b.halls[dialect] = h
	}
	return h
}

// Dialects returns the dialects that have a hall, sorted.
func (b *Building) Dialects() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.halls))
}

// BuildingOf returns the building that a configuration has, nil if it has none.
func BuildingOf(browsers interface{ Dialects() []string }) *Building {
	b, _ := browsers.(*Building)
	return b
}

// HallOf returns the hall that a dialect's configuration has, and one without sessions if it has none.
func HallOf(sessions admission.Sources) Sessions {
	if s, ok := sessions.(Sessions); ok {
		return s
	}
	return nobody{}
}

// Find returns the hall of a dialect that a server serves, nil if there is none.
func (b *Building) Find(dialect string) *Hall {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.halls[dialect]; h != nil && (h.datagrams.Load() || h.streamed.Load()) {
		return h
	}
	return nil
}

// admit counts a session of an address.
func (b *Building) admit(h *Hall, source netip.Addr) error {
	now := time.Now()
	if h.door.Shuts(now, source) {
		h.counts.banned.Add(1)
		return ErrBanned
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.rates != nil && !b.rates.Allow(now, admission.Host(source), 1):
		h.counts.hasty.Add(1)
		return ErrHasty
	case b.crowd.Len() >= b.config.Most || !b.crowd.Enter(source):
		h.counts.crowded.Add(1)
		return ErrCrowded
	}
	return nil
}

func (b *Building) leave(source netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crowd.Leave(source)
}

// Hall has the sessions of one dialect: those of datagrams, of streams, or of duplex both. Its methods are for any goroutine. A nil Hall
// has no sessions.
type Hall struct {
	building *Building
	door     *bans.Door
	counts   counters

	datagrams, streamed atomic.Bool // a server takes them

	mu       sync.RWMutex // guards the tables; no other lock of the package is taken under it but a session's
	sessions map[netip.Addr]*Session
	streams  map[*StreamSession]struct{}
	kinds    map[netip.AddrPort]way.Kind // what carries the newest stream of each true address
	shut     bool
	begun    bool
	closed   chan struct{} // the sweeper ends
	less     chan struct{} // holds one: a session has ended
	group    sync.WaitGroup

	come     sync.Mutex // guards arrivals, and news of streams
	arrivals []*Session // that have something for the core
	spare    []*Session
	leavers  []*Session // whose connection is over
	wake     func()     // of the loop
	news     []*StreamSession
	wakeNews func()
}

// serial is the number of the newest session of this process. It begins anywhere in 56 bits, so that the addresses of an earlier run do not
// come back.
var serial atomic.Uint64

func init() {
	var b [8]byte
	cryptorand.Read(b[:])
	serial.Store(binary.BigEndian.Uint64(b[:]))
}

// Opening says who a session is of, and what to call.
type Opening struct {
	// Source is the peer's true address: counts, rates, bans and logs go by it.
	Source netip.AddrPort

	// Kind says what carries the session.
	Kind way.Kind

	// Admitted says that MayOpen has counted the session already.
	Admitted bool

	// Ready is called when Next has something, or the session is to end: see Session.Leaving. It must not block, and may be called by any
	// goroutine, also again before Next was.
	Ready func()

	// End is called once if the session must end at once, for a reason other than Left. It must not block and must not call Close: the
	// carrier closes the connection, and then calls Close as always. Default: none, for a carrier that looks at Session.Over.
	End func(why Why)
}

// MayOpen counts a session of an address, or says why it may have none: before a handshake that costs more. A session that it has counted must be
// opened, with Opening.Admitted, or given back with Forgo.
func (h *Hall) MayOpen(source netip.Addr) error { return h.building.admit(h, source.Unmap()) }

// Forgo takes back what MayOpen has counted.
func (h *Hall) Forgo(source netip.Addr) { h.building.leave(source.Unmap()) }

// Open begins a session of datagrams. The carrier must call Close when its connection is over.
func (h *Hall) Open(o Opening) (*Session, error) {
	if !o.Admitted {
		if err := h.MayOpen(o.Source.Addr()); err != nil {
			return nil, err
		}
	}
	s, err := h.open(o, false)
	if err != nil {
		h.building.leave(o.Source.Addr().Unmap())
	}
	return s, err
}

// open begins a session that is counted already. One that is beside a stream has no time limit of its own.
func (h *Hall) open(o Opening, beside bool) (*Session, error) {
	now := time.Now()
	s := &Session{
		hall: h, opening: o, addr: way.SessionAddr(o.Kind, serial.Add(1)),
		born: now, beside: beside, welcome: beside, allowance: allowance{left: maxBurst, at: now},
	}
	s.largest = way.Largest(s.addr.Addr())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut || !h.datagrams.Load() {
		h.counts.closed.Add(1)
		return nil, ErrClosed
	}
	h.sessions[s.addr.Addr()] = s
	if !beside {
		h.counts.open.Add(1)
		h.counts.opened.Add(1)
	}
	return s, nil
}

// get returns the session of an address, nil if there is none any more.
func (h *Hall) get(a netip.Addr) *Session {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.sessions[a]
}

// Source returns the true address of a peer: that of its session, if it is in a browser. Call it when the peer comes and keep the result,
// as it is not known for long once the session has ended.
func (h *Hall) Source(peer netip.AddrPort) netip.AddrPort {
	if h == nil || !way.IsSession(peer.Addr()) {
		return peer
	}
	if s := h.get(peer.Addr()); s != nil {
		return s.opening.Source
	}
	return peer
}

// StreamKind returns what carries the stream of a peer that has this true address, UDP if no session does.
func (h *Hall) StreamKind(peer netip.AddrPort) way.Kind {
	if h == nil {
		return way.UDP
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.kinds[peer]
}

// Welcome says that the peer of an address has a connection of the dialect: its session is no longer one that is silent.
func (h *Hall) Welcome(peer netip.AddrPort) {
	if h == nil || !way.IsSession(peer.Addr()) {
		return
	}
	if s := h.get(peer.Addr()); s != nil {
		s.mu.Lock()
		s.welcome = true
		s.mu.Unlock()
	}
}

// Hangup says that the connection of a peer is over: its session ends when what waits for it has gone out, the goodbye last. The goroutine
// of the turn calls it. What the same turn still sends goes out, too.
func (h *Hall) Hangup(peer netip.AddrPort) {
	if h == nil || !way.IsSession(peer.Addr()) {
		return
	}
	if s := h.get(peer.Addr()); s != nil {
		h.come.Lock()
		h.leavers = append(h.leavers, s)
		h.come.Unlock()
	}
}

// Stats returns the counters as they are now.
func (h *Hall) Stats() Stats {
	if h == nil {
		return Stats{}
	}
	st := h.counts.snapshot()
	st.Banned += h.door.Turned()
	return st
}
