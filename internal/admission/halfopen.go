package admission

import (
	"net/netip"
	"reflect"
	"time"
)

// Verdict says how to treat a question: a request of a peer that wants to connect.
type Verdict uint8

const (
	// Opened means a new handshake: answer it.
	Opened Verdict = iota + 1
	// Repeated means that its handshake is already open: answer as before.
	Repeated
	// Deferred means that too many handshakes are open to answer a first question. Send
	// nothing and store nothing: an honest client asks again.
	Deferred
)

func (v Verdict) String() string {
	switch v {
	case Opened:
		return "opened"
	case Repeated:
		return "repeated"
	case Deferred:
		return "deferred"
	}
	return "unset"
}

// HalfOpenConfig sets the bounds of a HalfOpen. The zero value is usable.
type HalfOpenConfig struct {
	// Max is the number of handshakes open at once; 0 means 4,096.
	Max int
	// Crowded is the number above which only the second question of an address is
	// answered; 0 means 1,024, or a quarter of Max if that is less. Negative means never.
	Crowded int
	// Life is how long a handshake may stay open; 0 means 5 s.
	Life time.Duration
}

// HalfOpenStats counts questions, and what became of handshakes: Opened = Proven +
// Dropped + Expired + Evicted + handshakes open now.
type HalfOpenStats struct {
	Opened   uint64 // handshakes begun
	Repeated uint64 // questions about an open handshake
	Deferred uint64 // first questions that were not answered
	Proven   uint64 // handshakes that ended well
	Dropped  uint64 // handshakes that the caller gave up
	Expired  uint64 // handshakes that were not completed in time
	Evicted  uint64 // handshakes that made room for a newer one
}

// HalfOpen is the table of half-open connections: handshakes with unproven addresses.
// Values of V are at most 1 KiB and are held in place; all memory is allocated at the
// start.
//
// Two rules keep honest clients able to connect through a flood from forged sources. When
// many handshakes are open, an address must ask twice: an attacker who asks once for each
// forged source never fills the table, and one who asks twice has to send twice as much.
// When the table is full, the oldest handshake makes room. An honest handshake succeeds
// within a few round trips, while refusing new ones would shut everyone out for the whole
// of Life. So with a table of 4,096 and an attacker who asks twice for each of F sources a
// second, a client has 4,096/F seconds for its round trips. At F = 16,000 that is 250 ms. A
// protocol whose proof can be checked without the value, as a clock made by Secret can,
// should do so for an address that is not in the table. It then loses no honest client at
// all.
type HalfOpen[V any] struct {
	table   table[V]
	seen    *Seen
	crowded int
	stats   HalfOpenStats
}

// NewHalfOpen returns an empty table.
func NewHalfOpen[V any](config HalfOpenConfig, key Key) *HalfOpen[V] {
	if reflect.TypeFor[V]().Size() > maxHalfOpenBytes {
		panic("admission: the state of a half-open handshake is over 1 KiB")
	}
	size := orDefault(config.Max, defaultHalfOpen)
	h := &HalfOpen[V]{
		table:   newTable[V](key, size, orDefault(config.Life, halfOpenLife)),
		crowded: orDefault(config.Crowded, min(crowdedHalfOpen, max(size/4, 1))),
	}
	if h.crowded < 0 {
		h.crowded = size
		return h
	}
	h.seen = NewSeen(key)
	return h
}

// Open is called for each question of a peer that wants to connect. It returns the value
// of the handshake, which is zero if the handshake is new, and may be changed in place
// until the next call of any method. It is nil if the verdict is Deferred.
func (h *HalfOpen[V]) Open(now time.Time, from netip.AddrPort) (*V, Verdict) {
	t, key := h.table.at(now), Canon(from)
	h.table.expire(t, expirePerCall)
	if i := h.table.find(t, key); i != none {
		h.stats.Repeated++
		return &h.table.slots[i].value, Repeated
	}
	// Expired handshakes that are not removed yet do not make the table crowded.
	if h.table.used > h.crowded && !h.table.stale(t) && !h.seen.Mark(now, key) {
		h.stats.Deferred++
		return nil, Deferred
	}
	if h.table.full() {
		h.stats.Evicted++
		h.table.remove(h.table.oldest)
	}
	h.stats.Opened++
	return &h.table.slots[h.table.insert(t, key)].value, Opened
}

// Get returns the value of an open handshake, or nil. It may be changed in place until the
// next call of any method.
func (h *HalfOpen[V]) Get(now time.Time, from netip.AddrPort) *V {
	i := h.table.find(h.table.at(now), Canon(from))
	if i == none {
		return nil
	}
	return &h.table.slots[i].value
}

// Prove ends a handshake whose address has been proven, and returns its value.
func (h *HalfOpen[V]) Prove(now time.Time, from netip.AddrPort) (V, bool) {
	v, ok := h.take(now, from)
	if ok {
		h.stats.Proven++
	}
	return v, ok
}

// Drop ends a handshake that will not be completed, and reports whether there was one.
func (h *HalfOpen[V]) Drop(now time.Time, from netip.AddrPort) bool {
	_, ok := h.take(now, from)
	if ok {
		h.stats.Dropped++
	}
	return ok
}

func (h *HalfOpen[V]) take(now time.Time, from netip.AddrPort) (v V, ok bool) {
	i := h.table.find(h.table.at(now), Canon(from))
	if i == none {
		return v, false
	}
	v = h.table.slots[i].value
	h.table.remove(i)
	return v, true
}

// Expire removes the handshakes that have run out. Every Open removes some as well, so
// Expire needs to be called only when time passes without one.
func (h *HalfOpen[V]) Expire(now time.Time) { h.table.expire(h.table.at(now), len(h.table.slots)) }

// Len returns the number of open handshakes, including expired ones that are not removed
// yet.
func (h *HalfOpen[V]) Len() int { return h.table.used }

// Stats returns the counters.
func (h *HalfOpen[V]) Stats() HalfOpenStats {
	s := h.stats
	s.Expired = h.table.expired
	return s
}

// orDefault returns v, or def if v is zero.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
