package roster

import (
	"encoding/binary"
	"net/netip"
)

// table finds connections by their addresses, once for each datagram. It is a hash table with open
// addressing that is at most half full, so that a place and its neighbours are in one cache line. The zero
// table is not usable.
//
// The hash is a sum of products with secret numbers, which are drawn anew for each table. Nobody who does not
// know them can choose addresses that have the same sum. The numbers that mix the sum are fixed. Without the
// mixing, consecutive addresses fell onto a few places with one secret in some hundreds.
type table[C comparable] struct {
	places  []place[C] // a power of two
	used    int
	shift   uint
	secrets [4]uint64
}

type place[C comparable] struct {
	key  key
	conn C // the zero C if the place is free
}

// key is an address: its bytes, and its port with what its zone adds. An IPv4 address and the same address
// inside IPv6 have the same key, as they are the same to every dialect.
type key struct{ hi, lo, port uint64 }

func keyOf(a netip.AddrPort) key {
	ip := a.Addr().As16()
	k := key{binary.BigEndian.Uint64(ip[:8]), binary.BigEndian.Uint64(ip[8:]), uint64(a.Port())}
	if zone := a.Addr().Zone(); zone != "" {
		k.port |= zoneNumber(zone) << 16
	}
	return k
}

// zoneNumber hashes the name of an interface (FNV-1a, 48 bits): the same link-local address on two
// interfaces is two hosts. Names are the machine's own and few. The chance that two have the same number is
// one in 2^48.
func zoneNumber(zone string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(zone) {
		h = (h ^ uint64(zone[i])) * 1099511628211
	}
	return h >> 16
}

// leastPlaces is the size of an empty table.
const leastPlaces = 16

func newTable[C comparable]() table[C] {
	var t table[C]
	t.secrets = newSecrets()
	t.resize(leastPlaces)
	return t
}

// home returns the place where the search for k begins.
func (t *table[C]) home(k *key) int {
	s := &t.secrets
	h := k.hi*s[0] + k.lo*s[1] + k.port*s[2] + s[3]
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	return int(h >> t.shift)
}

// find returns the place of k, or the free place where it would be.
func (t *table[C]) find(k *key) *place[C] {
	var none C
	for i := t.home(k); ; i++ {
		p := &t.places[i&(len(t.places)-1)]
		if p.key == *k || p.conn == none {
			return p
		}
	}
}

func (t *table[C]) get(k key) C { return t.find(&k).conn }

// set puts a connection, which must not be the zero C, at an address.
func (t *table[C]) set(k key, c C) {
	var none C
	p := t.find(&k)
	if p.conn == none {
		if t.used++; 2*t.used > len(t.places) {
			t.resize(2 * len(t.places))
			p = t.find(&k)
		}
	}
	*p = place[C]{k, c}
}

// unset frees the place of an address. Entries behind it that had to pass it move up, so that no search ends
// before it reaches them.
func (t *table[C]) unset(k key) {
	var none C
	mask := len(t.places) - 1
	i := t.home(&k)
	for ; t.places[i&mask].key != k || t.places[i&mask].conn == none; i++ {
		if t.places[i&mask].conn == none {
			return
		}
	}
	free := i & mask
	for j := i + 1; t.places[j&mask].conn != none; j++ {
		p := &t.places[j&mask]
		if (j-t.home(&p.key))&mask >= (j-free)&mask {
			t.places[free] = *p
			free = j & mask
		}
	}
	t.places[free] = place[C]{}
	if t.used--; 8*t.used < len(t.places) && len(t.places) > leastPlaces {
		t.resize(len(t.places) / 2)
	}
}

func (t *table[C]) resize(n int) {
	var none C
	old := t.places
	t.places, t.shift = make([]place[C], n), 64
	for size := n; size > 1; size /= 2 {
		t.shift--
	}
	for i := range old {
		if p := &old[i]; p.conn != none {
			*t.find(&p.key) = *p
		}
	}
}
