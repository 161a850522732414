package roster

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"parley/internal/queue"
	"parley/internal/timers"
)

// Member is embedded by a connection that can be in a Roster. The zero value is in none.
type Member struct {
	timer
	index    int32 // in Roster.list
	queued   bool  // in busy
	eventful bool  // in eventful
	gone     bool  // it was removed
	stage    stage // with a Lobby
}

// stage is how far a connection has come on its way to a place.
type stage uint8

const (
	waiting stage = iota + 1 // it is in a Lobby
	entered                  // it has a place
)

// timer is an unexported name, so that users of a connection do not see the embedded
// Timer.
type timer = timers.Timer

// Gone reports whether a connection was removed. It may still have packets to poll. It is a function, because a method
// of Member would also be a method of the connection.
func Gone(m *Member) bool { return m.gone }

// Waiting reports whether a connection is in a Lobby.
func Waiting(m *Member) bool { return m.stage == waiting }

// Entered reports whether a connection has a place of a Lobby.
func Entered(m *Member) bool { return m.stage == entered }

func (m *Member) member() *Member { return m }

// connection is a pointer to something that embeds a Member.
type connection interface {
	comparable
	member() *Member
	timers.Timed
}

// Roster is the table of a server's connections.
type Roster[C connection] struct {
	conns    table[C]
	zoned    map[netip.AddrPort]C // connections whose addresses have a zone
	list     []C                  // all connections, in an order that the same seed repeats
	timers   timers.Heap[C]
	busy     queue.Fifo[C] // connections with packets to poll
	eventful queue.Fifo[C] // connections with events to poll
}

// New returns an empty table.
func New[C connection]() *Roster[C] {
	return &Roster[C]{conns: newTable[C](), zoned: map[netip.AddrPort]C{}}
}

func hasZone(a netip.AddrPort) bool { return a.Addr().Is6() && a.Addr().Zone() != "" }

// Add puts a connection into the table. It must be in no table yet. An address has at
// most one connection.
func (r *Roster[C]) Add(addr netip.AddrPort, c C) {
	c.member().index = int32(len(r.list))
	r.set(addr, c)
	r.list = append(r.list, c)
}

// Get returns the connection of an address, nil if there is none.
func (r *Roster[C]) Get(addr netip.AddrPort) C {
	if hasZone(addr) {
		return r.zoned[addr]
	}
	return r.conns.get(keyOf(addr))
}

func (r *Roster[C]) set(addr netip.AddrPort, c C) {
	if hasZone(addr) {
		r.zoned[addr] = c
	} else {
		r.conns.set(keyOf(addr), c)
	}
}

func (r *Roster[C]) unset(addr netip.AddrPort) {
	if hasZone(addr) {
		delete(r.zoned, addr)
	} else {
		r.conns.unset(keyOf(addr))
	}
}

// Len returns the number of connections.
func (r *Roster[C]) Len() int { return len(r.list) }

// All yields all connections. None may be removed meanwhile.
func (r *Roster[C]) All() iter.Seq[C] { return slices.Values(r.list) }

// Remove takes a connection out of the table, and its timer. Its remaining events and
// packets can still be polled.
func (r *Roster[C]) Remove(addr netip.AddrPort, c C) {
	m := c.member()
	r.unset(addr)
	end := len(r.list) - 1
	last := r.list[end]
	r.list[m.index] = last
	last.member().index = m.index
	var none C
	r.list[end] = none
	r.list = r.list[:end]
	m.gone = true
	r.timers.Set(c, time.Time{}, false)
}

// Touch notes that a connection was called: it may have events and packets.
func (r *Roster[C]) Touch(c C) {
	r.Load(c)
	if m := c.member(); !m.eventful {
		m.eventful = true
		r.eventful.Push(c)
	}
}

// Load notes that a connection was given a packet to send. It has no new events.
func (r *Roster[C]) Load(c C) {
	if m := c.member(); !m.queued {
		m.queued = true
		r.busy.Push(c)
	}
}

// Eventful returns a connection that may have events, the same one until Calm.
func (r *Roster[C]) Eventful() (c C, ok bool) {
	if r.eventful.Len() == 0 {
		return c, false
	}
	return *r.eventful.First(), true
}

// Quiet reports whether no connection may have events.
func (r *Roster[C]) Quiet() bool { return r.eventful.Len() == 0 }

// Calm notes that the connection of Eventful has no more events.
func (r *Roster[C]) Calm(c C) {
	c.member().eventful = false
	r.eventful.Pop()
}

// Busy returns a connection that may have packets, the same one until Rest.
func (r *Roster[C]) Busy() (c C, ok bool) {
	if r.busy.Len() == 0 {
		return c, false
	}
	return *r.busy.First(), true
}

// Rest notes that the connection of Busy has no more packets, and sets the time of its
// next call. That time is known only now, as polling can change it.
func (r *Roster[C]) Rest(c C, next time.Time, ok bool) {
	m := c.member()
	m.queued = false
	r.busy.Pop()
	if !m.gone {
		r.timers.Set(c, next, ok)
	}
}

// NextTimeout returns when the first connection wants to be called. It is valid once Busy
// has none.
func (r *Roster[C]) NextTimeout() (time.Time, bool) {
	_, at, ok := r.timers.First()
	return at, ok
}

// Due returns a connection that is due, and stops its timer: Rest sets it again.
func (r *Roster[C]) Due(now time.Time) (c C, ok bool) {
	c, at, ok := r.timers.First()
	if !ok || at.After(now) {
		var none C
		return none, false
	}
	r.timers.Set(c, time.Time{}, false)
	return c, true
}

// Idle reports whether nothing of removed connections is held here: no member, no timer,
// nothing to poll. It is for tests.
func (r *Roster[C]) Idle() bool {
	return r.conns.used+len(r.zoned)+len(r.list)+r.timers.Len()+r.busy.Len()+r.eventful.Len() == 0
}
