package admission

import (
	"net/netip"
	"time"
)

// Allowance is the number of bytes that may still be sent to one peer whose address is
// unproven: three for each byte that came from it. It is 8 bytes, to be embedded in a
// connection. The zero value allows nothing yet.
type Allowance struct {
	left int64
}

// unlimited marks the allowance of a proven address.
const unlimited = maxAllowance + 1

// NewAllowance returns an allowance with a grace: a number of bytes that may be sent
// before any came (relay: 8 KiB).
func NewAllowance(grace int) Allowance {
	return Allowance{left: min(int64(max(grace, 0)), maxAllowance)}
}

// Received counts n bytes that came from the peer.
func (a *Allowance) Received(n int) {
	if a.left == unlimited || n <= 0 {
		return
	}
	gain := min(int64(n), maxAllowance/sendFactor) * sendFactor
	a.left = min(a.left, maxAllowance-gain) + gain
}

// MaySend reports whether n bytes may be sent to the peer, and if so counts them.
func (a *Allowance) MaySend(n int) bool {
	switch {
	case a.left == unlimited:
		return true
	case n < 0 || int64(n) > a.left:
		return false
	}
	a.left -= int64(n)
	return true
}

// Prove lifts the limit: the peer has shown that it receives packets sent to its address.
func (a *Allowance) Prove() { a.left = unlimited }

// Proven reports whether the limit was lifted.
func (a *Allowance) Proven() bool { return a.left == unlimited }

// LedgerConfig sets the bounds of a Ledger. The zero value is usable.
type LedgerConfig struct {
	// Max is the number of addresses in the ledger at once; 0 means 4,096.
	Max int
	// Grace is the number of bytes that may be sent to each address before any came; 0
	// means none.
	Grace int
	// Life is how long a silent address stays in the ledger; 0 means 30 s.
	Life time.Duration
}

// LedgerStats counts calls of Received and MaySend.
type LedgerStats struct {
	Booked  uint64 // datagrams received and counted
	Full    uint64 // datagrams received from new addresses while the ledger was full
	Allowed uint64 // datagrams that were allowed to be sent
	Refused uint64 // datagrams that were not allowed, including those to unknown addresses
	Expired uint64 // addresses forgotten after silence
}

// Ledger keeps an Allowance for each of many unproven addresses that have no connection.
// Nothing may be sent to a forgotten address. With a grace of 0, no address ever gets more
// than three times the bytes that came from it. With a grace, it also gets one grace each time
// that it was forgotten, so at most once in Life.
//
// When the ledger is full, a new address is not added, so nothing may be sent to it,
// until others have been silent for Life. To answer a single datagram even then, use an
// Allowance for that datagram alone.
type Ledger struct {
	table table[Allowance]
	grace int
	stats LedgerStats
}

// NewLedger returns an empty ledger.
func NewLedger(config LedgerConfig, key Key) *Ledger {
	return &Ledger{
		table: newTable[Allowance](key, orDefault(config.Max, defaultLedger), orDefault(config.Life, ledgerLife)),
		grace: config.Grace,
	}
}

// Received counts n bytes that came from an address and port.
func (l *Ledger) Received(now time.Time, from netip.AddrPort, n int) {
	t, key := l.table.at(now), Canon(from)
	l.table.expire(t, expirePerCall)
	i := l.table.find(t, key)
	switch {
	case i != none:
		l.table.touch(t, i)
	case l.table.full():
		l.stats.Full++
		return
	default:
		i = l.table.insert(t, key)
		l.table.slots[i].value = NewAllowance(l.grace)
	}
	l.stats.Booked++
	l.table.slots[i].value.Received(n)
}

// MaySend reports whether n bytes may be sent to an address and port, and if so counts
// them.
func (l *Ledger) MaySend(now time.Time, to netip.AddrPort, n int) bool {
	i := l.table.find(l.table.at(now), Canon(to))
	if i == none || !l.table.slots[i].value.MaySend(n) {
		l.stats.Refused++
		return false
	}
	l.stats.Allowed++
	return true
}

// Forget removes an address once it is proven, and reports whether it was in the ledger.
// If the address comes back, it gets a new grace.
func (l *Ledger) Forget(now time.Time, from netip.AddrPort) bool {
	i := l.table.find(l.table.at(now), Canon(from))
	if i == none {
		return false
	}
	l.table.remove(i)
	return true
}

// Len returns the number of addresses in the ledger.
func (l *Ledger) Len() int { return l.table.used }

// Stats returns the counters.
func (l *Ledger) Stats() LedgerStats {
	s := l.stats
	s.Expired = l.table.expired
	return s
}
