package bans

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"
)

// Entry is one ban: of all addresses of a prefix, until a time, or for ever if the time is zero.
type Entry struct {
	Prefix netip.Prefix
	Until  time.Time
}

// Canon returns a prefix as a Table and people compare it: masked, without a zone, and with IPv4 as IPv4 also if it was written as
// a part of IPv6. It returns the zero Prefix for one that is not valid.
func Canon(p netip.Prefix) netip.Prefix {
	addr, bits := p.Addr().WithZone(""), p.Bits()
	if addr.Is4In6() && bits >= mappedBits {
		addr, bits = addr.Unmap(), bits-mappedBits
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

// mappedBits is the size of the prefix ::ffff:0:0, under which IPv6 has the addresses of IPv4.
const mappedBits = 96

// Table is an immutable set of banned prefixes. The zero Table has none.
type Table struct {
	four, six []stretch
}

// stretch is a run of addresses with the same fate, which ends where the next one begins.
type stretch struct {
	from   point
	banned bool
	until  time.Time // zero: for ever
}

// point is an address as a number: one of IPv4 has lo alone.
type point struct{ hi, lo uint64 }

func (p point) compare(q point) int {
	return cmp.Or(cmp.Compare(p.hi, q.hi), cmp.Compare(p.lo, q.lo))
}

// NewTable returns the table of some bans. Prefixes that are not valid are left out. Of bans that hold the same address, the one
// that ends last counts.
func NewTable(list []Entry) *Table {
	t := new(Table)
	var four, six []span
	for _, e := range list {
		p := Canon(e.Prefix)
		switch {
		case !p.IsValid():
		case p.Addr().Is4():
			four = append(four, spanOf(p, e.Until))
		default:
			six = append(six, spanOf(p, e.Until))
		}
	}
	t.four, t.six = flatten(four), flatten(six)
	return t
}

// Len returns the number of stretches that the table has, of both families.
func (t *Table) Len() int { return len(t.four) + len(t.six) }

// Holds reports whether an address is banned at the time now. An IPv4 address that is written as IPv6 is the IPv4 address.
func (t *Table) Holds(now time.Time, addr netip.Addr) bool {
	list, p := t.six, point{}
	if addr = addr.Unmap(); addr.Is4() {
		b := addr.As4()
		list, p.lo = t.four, uint64(binary.BigEndian.Uint32(b[:]))
	} else if addr.IsValid() {
		b := addr.As16()
		p.hi, p.lo = binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	} else {
		return false
	}
	// By hand: a function given to slices.BinarySearchFunc is called for each comparison.
	lo, hi := 0, len(list) // list[:lo] begin at or before p, list[hi:] after it
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if q := list[mid].from; q.hi < p.hi || q.hi == p.hi && q.lo <= p.lo {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return false
	}
	s := &list[lo-1]
	return s.banned && (s.until.IsZero() || now.Before(s.until))
}

// span is a prefix as its first and its last address.
type span struct {
	from, to point
	until    time.Time
}

func spanOf(p netip.Prefix, until time.Time) span {
	s := span{until: until}
	host := p.Addr().BitLen() - p.Bits()
	if p.Addr().Is4() {
		b := p.Addr().As4()
		s.from.lo = uint64(binary.BigEndian.Uint32(b[:]))
	} else {
		b := p.Addr().As16()
		s.from = point{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	}
	// Shifts by 64 and more give 0, so that these are the host's bits of each half.
	s.to = point{s.from.hi | (1<<max(host-64, 0) - 1), s.from.lo | (1<<min(host, 64) - 1)}
	return s
}

// later returns the later of two ends.
func later(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return b
	}
	return a
}

// next returns the address after p, and false if p is the last of all.
func (p point) next() (point, bool) {
	if p.lo++; p.lo == 0 {
		p.hi++
	}
	return p, p != point{}
}

// flatten turns prefixes, which lie in each other or apart, into stretches that only lie side by side.
func flatten(list []span) (out []stretch) {
	slices.SortFunc(list, func(a, b span) int { // a prefix comes before those that lie in it
		return cmp.Or(a.from.compare(b.from), b.to.compare(a.to))
	})
	add := func(s stretch) {
		if n := len(out); n > 0 && out[n-1].from == s.from {
			out[n-1] = s
		} else {
			out = append(out, s)
		}
	}
	var open []span // those that hold the place that we have come to, the innermost last; each with the end of the latest of all
	shut := func() {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		from, ok := last.to.next()
		switch {
		case !ok:
		case len(open) > 0:
			add(stretch{from, true, open[len(open)-1].until})
		default:
			add(stretch{from: from})
		}
	}
	for _, s := range list {
		for len(open) > 0 && open[len(open)-1].to.compare(s.from) < 0 {
			shut()
		}
		if len(open) > 0 {
			s.until = later(s.until, open[len(open)-1].until)
		}
		add(stretch{s.from, true, s.until})
		open = append(open, s)
	}
	for len(open) > 0 {
		shut()
	}
	return out
}
