package admission

import (
	"net/netip"
	"time"
)

// Seen remembers addresses for a short time, in constant memory (512 KiB). It has two Bloom
// filters: one that is being filled, and the one before it. It never forgets an address too
// early (see Mark). It may mistake a new address for a known one, about once in 20 when full,
// but an attacker cannot choose which.
type Seen struct {
	prf     *prf
	filters [2][]uint64
	current int
	count   int // addresses in the current filter
	until   time.Time
}

// NewSeen returns an empty Seen.
func NewSeen(key Key) *Seen {
	s := &Seen{prf: newPRF(key)}
	for i := range s.filters {
		s.filters[i] = make([]uint64, seenBits/64)
	}
	return s
}

// Mark remembers an address and port, and reports whether they were remembered already. They
// are remembered for at least 4 s, or until 262,144 others have come.
func (s *Seen) Mark(now time.Time, from netip.AddrPort) bool {
	if !now.Before(s.until) || s.count >= seenMax {
		s.turn(now)
	}
	lo, hi := s.prf.peer(useSeen, Canon(from), 0)
	inCurrent, inLast := true, true
	for i := range uint64(seenHashes) {
		bit := (lo + i*(hi|1)) % seenBits
		word, mask := bit/64, uint64(1)<<(bit%64)
		inCurrent = inCurrent && s.filters[s.current][word]&mask != 0
		inLast = inLast && s.filters[1-s.current][word]&mask != 0
		s.filters[s.current][word] |= mask
	}
	if !inCurrent {
		s.count++
	}
	return inCurrent || inLast
}

// turn starts a new filter in place of the older one.
func (s *Seen) turn(now time.Time) {
	// After a long silence both are out of date.
	if now.Sub(s.until) >= seenLife {
		clear(s.filters[s.current])
	}
	s.current = 1 - s.current
	clear(s.filters[s.current])
	s.count, s.until = 0, now.Add(seenLife)
}
