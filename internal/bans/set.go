package bans

import (
	"net/netip"
	"sync/atomic"
	"time"
)

// Set is the bans that hold now. The zero Set has none. Any goroutine may use it.
type Set struct{ table atomic.Pointer[Table] }

// Use has the bans of a table hold, in place of those before. nil means none.
func (s *Set) Use(t *Table) {
	if t != nil && t.Len() == 0 {
		t = nil // so that nothing but the pointer is looked at
	}
	s.table.Store(t)
}

// Holds reports whether an address is banned at the time now. It costs one atomic load if nobody is banned. A nil Set has no bans.
func (s *Set) Holds(now time.Time, addr netip.Addr) bool {
	if s == nil {
		return false
	}
	t := s.table.Load()
	return t != nil && t.Holds(now, addr)
}

// Door keeps the banned out of one server, and counts them. A nil Door is open. Any goroutine may use it.
type Door struct {
	banned func(now time.Time, addr netip.Addr) bool
	turned atomic.Uint64
}

// NewDoor returns the door of a server. banned is Set.Holds, or a program's own; nil means that nobody is.
func NewDoor(banned func(now time.Time, addr netip.Addr) bool) *Door { return &Door{banned: banned} }

// Shuts reports whether a datagram or a connection of an address is turned away, and counts it.
func (d *Door) Shuts(now time.Time, addr netip.Addr) bool {
	if d == nil || d.banned == nil || !d.banned(now, addr) {
		return false
	}
	d.turned.Add(1)
	return true
}

// Turned returns how often Shuts was true.
func (d *Door) Turned() uint64 {
	if d == nil {
		return 0
	}
	return d.turned.Load()
}
