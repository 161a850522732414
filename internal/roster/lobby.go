package roster

import (
	"net/netip"
	"time"

	"parley/internal/admission"
)

const (
	// lobbyOfHost is how many connections of an address may be in the lobby: "At most 64 connections of an
	// address (/64 of IPv6)" (entry). One machine cannot keep others out.
	lobbyOfHost = 64

	// lobbyOfAll is the same for all addresses together, as many as may be half-open. When the lobby is full,
	// the busiest address makes room.
	lobbyOfAll = 4096

	// EnterWithin is how long a proven connection has to enter.
	EnterWithin = 10 * time.Second
)

// Lobby holds connections that are proven and have not entered, and counts the places of those that have: "A place
// is taken when a player enters, never before" (entry). So connections that never enter keep nobody out. Each has a
// time limit to enter, and an address has a bounded number of them. When the lobby is full, the oldest connection of
// the address that has the most makes room. Nothing here runs for each packet.
type Lobby[C connection] struct {
	within time.Duration // 0: connections enter as they come
	places int
	taken  int // of places
	size   int
	hosts  map[netip.Addr]*host[C]
	guests map[C]*guest[C]
	oldest ring[*guest[C]]                 // all connections, in order of arrival
	counts [lobbyOfHost + 1]ring[*host[C]] // the hosts by their number of connections
}

// host is an address, and its connections in the lobby, the oldest first.
type host[C connection] struct {
	addr   netip.Addr
	guests []*guest[C]
	links  links[*host[C]]
}

type guest[C connection] struct {
	conn  C
	host  *host[C]
	until time.Time
	links links[*guest[C]]
}

// NewLobby returns an empty lobby with a time limit for its connections, and with so many places. Without a time limit
// (0), each connection enters as it comes.
func NewLobby[C connection](within time.Duration, places int) *Lobby[C] {
	return &Lobby[C]{within: within, places: places, size: lobbyOfAll, hosts: map[netip.Addr]*host[C]{}, guests: map[C]*guest[C]{}}
}

// Taken returns the number of places that are taken, and Full reports whether that is all of them.
func (l *Lobby[C]) Taken() int { return l.taken }
func (l *Lobby[C]) Full() bool { return l.taken >= l.places }

// Len returns the number of connections.
func (l *Lobby[C]) Len() int { return len(l.guests) }

// HasRoom reports whether one more connection of an address may come.
func (l *Lobby[C]) HasRoom(addr netip.Addr) bool {
	if l.within == 0 {
		return true
	}
	n := 0
	if h := l.hosts[admission.Host(addr)]; h != nil {
		n = len(h.guests)
	}
	return n < lobbyOfHost && (len(l.guests) < l.size || n < l.most())
}

// most returns the number of connections of the busiest address.
func (l *Lobby[C]) most() int {
	n := lobbyOfHost
	for n > 0 && l.counts[n].first == nil {
		n--
	}
	return n
}

// Come adds a connection after HasRoom has returned true. If another connection has to make room, it leaves the
// lobby and is returned as gone.
func (l *Lobby[C]) Come(now time.Time, addr netip.Addr, c C) (gone C, ok bool) {
	if l.within == 0 {
		l.Enter(c)
		return gone, false
	}
	if len(l.guests) >= l.size {
		first := l.counts[l.most()].first.guests[0]
		gone, ok = first.conn, true
		l.Leave(gone)
	}
	name := admission.Host(addr)
	h := l.hosts[name]
	if h == nil {
		h = &host[C]{addr: name}
		l.hosts[name] = h
	} else {
		l.counts[len(h.guests)].remove(h)
	}
	g := &guest[C]{conn: c, host: h, until: now.Add(l.within)}
	h.guests = append(h.guests, g)
	l.counts[len(h.guests)].push(h)
	l.oldest.push(g)
	l.guests[c] = g
	c.member().stage = waiting
	return gone, ok
}

// Enter gives a connection a place. If none is free, it reports false, and the connection is out of the lobby.
func (l *Lobby[C]) Enter(c C) bool {
	l.Leave(c)
	if l.Full() {
		return false
	}
	c.member().stage = entered
	l.taken++
	return true
}

// Leave removes a connection that has ended, and frees its place.
func (l *Lobby[C]) Leave(c C) {
	was := c.member().stage
	c.member().stage = 0
	if was == entered {
		l.taken--
	}
	if was != waiting {
		return
	}
	g := l.guests[c]
	delete(l.guests, c)
	l.oldest.remove(g)
	h := g.host
	l.counts[len(h.guests)].remove(h)
	for i := range h.guests {
		if h.guests[i] == g {
			h.guests = append(h.guests[:i], h.guests[i+1:]...)
			break
		}
	}
	if len(h.guests) == 0 {
		delete(l.hosts, h.addr)
	} else {
		l.counts[len(h.guests)].push(h)
	}
}

// NextTimeout returns when the first time limit is over.
func (l *Lobby[C]) NextTimeout() (time.Time, bool) {
	if l.oldest.first == nil {
		return time.Time{}, false
	}
	return l.oldest.first.until, true
}

// Due removes a connection whose time limit is over, and returns it.
func (l *Lobby[C]) Due(now time.Time) (c C, ok bool) {
	g := l.oldest.first
	if g == nil || g.until.After(now) {
		return c, false
	}
	c = g.conn
	l.Leave(c)
	return c, true
}

// links are the neighbours of an element of a ring.
type links[T any] struct{ older, newer T }

// linked is an element that has links.
type linked[T any] interface {
	comparable
	link() *links[T]
}

func (g *guest[C]) link() *links[*guest[C]] { return &g.links }
func (h *host[C]) link() *links[*host[C]]   { return &h.links }

// ring is a doubly linked list, in the order of push.
type ring[T linked[T]] struct{ first, last T }

func (r *ring[T]) push(x T) {
	var none T
	*x.link() = links[T]{older: r.last}
	if r.last != none {
		r.last.link().newer = x
	} else {
		r.first = x
	}
	r.last = x
}

func (r *ring[T]) remove(x T) {
	var none T
	l := x.link()
	if l.older != none {
		l.older.link().newer = l.newer
	} else {
		r.first = l.newer
	}
	if l.newer != none {
		l.newer.link().older = l.older
	} else {
		r.last = l.older
	}
	*l = links[T]{}
}
