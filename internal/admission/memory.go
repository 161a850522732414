package admission

import (
	"net/netip"
	"time"
)

// MemoryStats counts the records of an Ended or an Ignored.
type MemoryStats struct {
	Added   uint64 // times an address was recorded
	Evicted uint64 // records that made room for newer ones before their time
	Expired uint64 // records that ran out
	Found   uint64 // lookups that found an address
}

// Ended numbers the connections of an address and port, so that two within 30 s never have
// the same clock: pass the number to Secret.Clock. When its 4,096 places are taken by
// connections that ended in the last 30 s, the oldest is forgotten.
type Ended struct {
	table table[uint32] // the number of the next connection
	stats MemoryStats
}

// NewEnded returns an empty Ended.
func NewEnded(key Key) *Ended {
	return &Ended{table: newTable[uint32](key, defaultEnded, endedLife)}
}

// Next returns the number of a new connection: 0 unless another from the same address
// ended in the last 30 s.
func (e *Ended) Next(now time.Time, from netip.AddrPort) uint32 {
	i := e.table.find(e.table.at(now), Canon(from))
	if i == none {
		return 0
	}
	e.stats.Found++
	return e.table.slots[i].value
}

// End records that the connection with that number ended.
func (e *Ended) End(now time.Time, from netip.AddrPort, number uint32) {
	i, evicted := e.table.put(e.table.at(now), Canon(from))
	e.table.slots[i].value = number + 1
	e.stats.added(evicted)
}

// Stats returns the counters.
func (e *Ended) Stats() MemoryStats { return e.stats.with(e.table.expired) }

// Ignored is the set of addresses and ports that are ignored for 10 s. When its 4,096
// places are taken, the oldest is no longer ignored.
type Ignored struct {
	table table[struct{}]
	stats MemoryStats
}

// NewIgnored returns an empty set.
func NewIgnored(key Key) *Ignored {
	return &Ignored{table: newTable[struct{}](key, defaultIgnored, ignoredLife)}
}

// Add makes an address ignored for 10 s from now.
func (g *Ignored) Add(now time.Time, from netip.AddrPort) {
	_, evicted := g.table.put(g.table.at(now), Canon(from))
	g.stats.added(evicted)
}

// Has reports whether an address is ignored.
func (g *Ignored) Has(now time.Time, from netip.AddrPort) bool {
	if g.table.find(g.table.at(now), Canon(from)) == none {
		return false
	}
	g.stats.Found++
	return true
}

// Stats returns the counters.
func (g *Ignored) Stats() MemoryStats { return g.stats.with(g.table.expired) }

func (s *MemoryStats) added(evicted bool) {
	s.Added++
	if evicted {
		s.Evicted++
	}
}

func (s MemoryStats) with(expired uint64) MemoryStats {
	s.Expired = expired
	return s
}
