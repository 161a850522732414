package simnet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// This file and conn.go are the only ones of the package that use locks and the clock of the time package.
// Everything else is pure.

// firstEphemeralPort is where the ports begin that Listen chooses from.
const firstEphemeralPort = 49_152

var (
	// ErrAddrInUse is returned by Listen for an address that another Conn has.
	ErrAddrInUse = errors.New("simnet: address in use")
	// ErrBadAddr is returned by Listen for an address that is not a single IP address, and by WriteTo for an address
	// that is not a *net.UDPAddr with an IP address and a port.
	ErrBadAddr = errors.New("simnet: not a usable UDP address")
	// ErrMessageTooLong is returned by WriteTo for a datagram that is too long for UDP.
	ErrMessageTooLong = errors.New("simnet: message too long")
)

// Live is a network for code that wants a net.PacketConn, with goroutines and timers of its own. It has the links of
// Network, but its time is that of package time. Inside a testing/synctest bubble, that time is virtual and no real
// time passes. (Outside a bubble it works too, in real time.) The random draws of a link come from the seed, but the
// order in which goroutines write to it does not. For runs that are equal to the bit, use Network. A Live is safe for
// use from several goroutines.
type Live struct {
	mu    sync.Mutex
	seed  uint64
	start time.Time

	conns    map[netip.AddrPort]*Conn
	links    map[way]*Link
	defLinks []*Link
	cuts     map[way]bool
	def      Profile
	numLinks uint64
	nextPort uint16

	events  eventHeap
	seq     uint64
	timer   *time.Timer // one for all that is under way: many at one instant would race, and so reorder
	timerAt int64
	flights []flight
	free    []uint32

	counts counts
}

// A way is one direction between two addresses.
type way struct{ from, to netip.AddrPort }

// A flight is a datagram that is under way, or in a read buffer.
type flight struct {
	way
	link *Link
	buf  []byte
}

// NewLive returns an empty network.
func NewLive(seed uint64) *Live {
	return &Live{
		seed: seed, start: time.Now(),
		conns: make(map[netip.AddrPort]*Conn), links: make(map[way]*Link), cuts: make(map[way]bool),
	}
}

// Listen opens a Conn at an address; with port 0 it chooses a free port. The address must be a single one, not 0.0.0.0.
// Errors wrap ErrAddrInUse and ErrBadAddr.
func (l *Live) Listen(addr netip.AddrPort) (*Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr = unmap(addr)
	if !addr.IsValid() || addr.Addr().IsUnspecified() {
		return nil, &net.OpError{Op: "listen", Net: "udp", Addr: net.UDPAddrFromAddrPort(addr), Err: ErrBadAddr}
	}
	if addr.Port() == 0 {
		addr = l.freePort(addr.Addr())
	}
	if l.conns[addr] != nil {
		return nil, &net.OpError{Op: "listen", Net: "udp", Addr: net.UDPAddrFromAddrPort(addr), Err: ErrAddrInUse}
	}
	c := &Conn{live: l, local: addr, addr: addr, buffer: defaultReadBuffer, space: defaultReadBuffer}
	c.readable.L = &l.mu
	l.conns[addr] = c
	return c, nil
}

// freePort chooses a port; when all are in use it is one that is.
func (l *Live) freePort(a netip.Addr) netip.AddrPort {
	for range 1<<16 - firstEphemeralPort {
		l.nextPort = max(l.nextPort+1, firstEphemeralPort) // wraps to 0, and so to the first
		if candidate := netip.AddrPortFrom(a, l.nextPort); l.conns[candidate] == nil {
			return candidate
		}
	}
	return netip.AddrPortFrom(a, l.nextPort)
}

// Default gives each pair of addresses without a Route a link of its own with this profile, one for each
// direction, as Network.Default does. It panics if the profile is not valid, as all methods with a profile do.
func (l *Live) Default(p Profile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	l.def = p
	for _, k := range l.defLinks {
		if !k.isOwn {
			k.set(p)
		}
	}
}

// NewLink returns a link for Route.
func (l *Live) NewLink(p Profile) *Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := new(Link)
	l.numLinks++
	initLink(k, nil, l.seed, 1<<63|l.numLinks, p)
	return k
}

// Route sends datagrams from one address to the other, in this direction, over k. Routes that share a link share its
// queue and its rate.
func (l *Live) Route(from, to netip.AddrPort, k *Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.net != nil {
		panic("simnet: Live.Route with a link of a Network")
	}
	l.links[way{unmap(from), unmap(to)}] = k
}

// LinkBetween returns the link from one address to the other. Do not call the link's own methods; use SetProfile and
// LinkStats.
func (l *Live) LinkBetween(from, to netip.AddrPort) *Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.link(way{unmap(from), unmap(to)})
}

// SetProfile changes a link of this network from now on.
func (l *Live) SetProfile(k *Link, p Profile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.set(p)
	k.isOwn = true
}

// LinkStats counts the datagrams that entered a link of this network.
func (l *Live) LinkStats(k *Link) Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.counts.stats()
}

// Partition cuts the path from a to b, and unless oneWay the path back too.
func (l *Live) Partition(a, b netip.AddrPort, oneWay bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, b = unmap(a), unmap(b)
	l.cuts[way{a, b}] = true
	if !oneWay {
		l.cuts[way{b, a}] = true
	}
}

// Heal opens both paths between a and b.
func (l *Live) Heal(a, b netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, b = unmap(a), unmap(b)
	delete(l.cuts, way{a, b})
	delete(l.cuts, way{b, a})
}

// Rebind gives a Conn another address, as a NAT that lost a mapping does: its datagrams now come from there, and
// datagrams to the old address are dropped. Its routes and partitions move with it. LocalAddr does not change, as with
// a real NAT.
func (l *Live) Rebind(c *Conn, addr netip.AddrPort) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, addr := c.addr, unmap(addr)
	switch {
	case c.isClosed:
		return net.ErrClosed
	case !addr.IsValid() || addr.Addr().IsUnspecified() || addr.Port() == 0:
		return ErrBadAddr
	case l.conns[addr] != nil:
		return ErrAddrInUse
	}
	c.addr = addr
	delete(l.conns, old)
	l.conns[addr] = c
	// The order of these maps does not matter: each entry goes to a place of its own.
	for w, k := range l.links {
		if moved := w.moved(old, addr); moved != w {
			delete(l.links, w)
			l.links[moved] = k
		}
	}
	for w := range l.cuts {
		if moved := w.moved(old, addr); moved != w {
			delete(l.cuts, w)
			l.cuts[moved] = true
		}
	}
	return nil
}

// moved is the way with one address in the place of another.
func (w way) moved(old, addr netip.AddrPort) way {
	if w.from == old {
		w.from = addr
	}
	if w.to == old {
		w.to = addr
	}
	return w
}

// Stats returns the counters of all datagrams so far. A datagram in a read buffer counts as delivered.
func (l *Live) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts.stats()
}

// link finds or makes the link of a way.
func (l *Live) link(w way) *Link {
	k := l.links[w]
	if k == nil {
		k = new(Link)
		stream := uint64(sumString(w.from.String()))<<32 | uint64(sumString(w.to.String()))
		initLink(k, nil, l.seed, stream, l.def)
		l.links[w] = k
		l.defLinks = append(l.defLinks, k)
	}
	return k
}

// send takes a datagram to where its fate is known or its arrival set.
func (l *Live) send(w way, b []byte) {
	l.counts.send(len(b))
	switch {
	case l.cuts[w]:
		l.counts.end(FatePartition, len(b))
		return
	case l.counts.inFlight >= defaultInFlight: // WriteTo never waits, so a loop of them would take all memory
		l.counts.end(FateOverflow, len(b))
		return
	}
	header := header6Bytes
	if w.to.Addr().Is4() {
		header = header4Bytes
	}
	k := l.link(w)
	k.counts.send(len(b))
	sentAt, fate := k.enter(l.now(), header+len(b))
	if fate != 0 {
		l.counts.end(fate, len(b))
		k.counts.end(fate, len(b))
		return
	}
	l.fly(w, k, b, sentAt, false)
	if k.chance(k.duplicate) {
		l.counts.duplicated++
		k.counts.duplicated++
		l.fly(w, k, b, sentAt, true)
	}
	l.deliver()
}

func (l *Live) fly(w way, k *Link, b []byte, sentAt int64, isCopy bool) {
	at, heldBack := k.arrival(sentAt, isCopy)
	if heldBack {
		l.counts.reordered++
		k.counts.reordered++
	}
	var ref uint32
	if n := len(l.free); n > 0 {
		ref = l.free[n-1]
		l.free = l.free[:n-1]
	} else {
		ref = uint32(len(l.flights))
		l.flights = append(l.flights, flight{})
	}
	f := &l.flights[ref]
	f.way, f.link, f.buf = w, k, append(f.buf[:0], b...)
	if len(b) > 0 && k.chance(k.corrupt) {
		k.flip(f.buf)
		l.counts.corrupted++
		k.counts.corrupted++
	}
	l.counts.inFlight++
	k.counts.inFlight++
	l.seq++
	l.events.push(event{at: at, seq: l.seq, ref: ref, kind: eventArrive})
}

func (l *Live) now() int64 { return int64(time.Since(l.start)) }

// wake is what the timer calls.
func (l *Live) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timerAt = 0
	l.deliver()
}

// deliver hands out what is due and sets the timer for the rest.
func (l *Live) deliver() {
	now := l.now()
	for e := l.events.top(); e != nil && e.at <= now; e = l.events.top() {
		l.arrive(l.events.pop().ref)
	}
	e := l.events.top()
	if e == nil || l.timerAt != 0 && l.timerAt <= e.at {
		return
	}
	l.timerAt = e.at
	wait := time.Duration(e.at - now)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.wake)
	} else {
		l.timer.Reset(wait)
	}
}

func (l *Live) arrive(ref uint32) {
	f := &l.flights[ref]
	c := l.conns[f.to]
	fate := FateNoHost
	if c != nil {
		fate = c.offer(ref, len(f.buf))
	}
	l.counts.inFlight--
	f.link.counts.inFlight--
	l.counts.end(fate, len(f.buf))
	f.link.counts.end(fate, len(f.buf))
	if fate != FateDelivered {
		l.free = append(l.free, ref)
	}
}
