package account

import (
	"net/netip"
	"time"
)

// An ID is an account's number. It is never used again, even after the account is deleted.
type ID int64

// An Account is the public part of an account.
type Account struct {
	ID   ID
	Name string // as its owner typed it, in NFKC

	Created   time.Time
	LastLogin time.Time // zero: never
	Ban       Ban
}

// A Ban keeps an account out. The zero Ban is no ban.
type Ban struct {
	Since  time.Time // zero: not banned
	Until  time.Time // zero: for ever
	Reason string    // for the operator and the banned player; at most 512 bytes
}

// Holds reports whether the ban keeps the account out at the time now.
func (b Ban) Holds(now time.Time) bool {
	return !b.Since.IsZero() && (b.Until.IsZero() || now.Before(b.Until))
}

// Source returns the prefix that counts as one address: a whole IPv4 address, or the /56 of an
// IPv6 address, which is what one customer is commonly given. The zero Addr, which stands for
// the operator, has the zero Prefix.
func Source(addr netip.Addr) netip.Prefix {
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := prefixBits6
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits) // fails only for too many bits, and addresses with a zone
	return p
}
