package admission

import (
	"net/netip"
	"time"
)

// table maps addresses to values. It has a fixed number of slots, allocated at the start.
// All entries live for the same time, so the order of age is the order of expiry. It is a
// hash table with chains; the hash is keyed, so that chains cannot be made long on purpose.
type table[V any] struct {
	prf     *prf
	life    int64
	epoch   time.Time // time 0 of deadlines: the first now that was seen
	started bool
	slots   []slot[V]
	heads   []int32 // first slot of each chain
	free    int32   // first free slot; free slots are chained by next
	oldest  int32
	newest  int32
	used    int
	expired uint64 // entries that ran out
}

// slot is an entry, or free. Links are indexes of slots, or none.
type slot[V any] struct {
	key          netip.AddrPort
	head         int32 // its chain
	next         int32 // in its chain
	older, newer int32
	deadline     int64
	value        V
}

const none = int32(-1)

func newTable[V any](key Key, size int, life time.Duration) table[V] {
	heads := 1
	for heads < 2*size {
		heads *= 2
	}
	t := table[V]{
		prf: newPRF(key), life: int64(life),
		slots: make([]slot[V], size), heads: make([]int32, heads),
		oldest: none, newest: none,
	}
	for i := range t.heads {
		t.heads[i] = none
	}
	for i := range t.slots {
		t.slots[i].next = int32(i) + 1
	}
	t.slots[size-1].next = none
	return t
}

// at returns now as ns since epoch.
func (t *table[V]) at(now time.Time) int64 {
	if !t.started {
		t.epoch, t.started = now, true
	}
	return int64(now.Sub(t.epoch))
}

func (t *table[V]) full() bool { return t.used == len(t.slots) }

// find returns the slot of an address, or none. An entry that ran out is removed.
func (t *table[V]) find(now int64, key netip.AddrPort) int32 {
	i := t.heads[t.headOf(key)]
	for i != none && t.slots[i].key != key {
		i = t.slots[i].next
	}
	if i != none && t.slots[i].deadline <= now {
		t.expired++
		t.remove(i)
		return none
	}
	return i
}

// insert adds an address that find did not find to a table that is not full. Its value is
// the zero value.
func (t *table[V]) insert(now int64, key netip.AddrPort) int32 {
	i, head := t.free, t.headOf(key)
	s := &t.slots[i]
	t.free = s.next
	s.key, s.head, s.next = key, int32(head), t.heads[head]
	t.heads[head] = i
	t.used++
	t.append(now, i)
	return i
}

// put finds or inserts an address and gives it its whole life. In a full table the address
// replaces the oldest entry, and put reports so.
func (t *table[V]) put(now int64, key netip.AddrPort) (i int32, evicted bool) {
	t.expire(now, expirePerCall)
	if i = t.find(now, key); i != none {
		t.touch(now, i)
		return i, false
	}
	if evicted = t.full(); evicted {
		t.remove(t.oldest)
	}
	return t.insert(now, key), evicted
}

// touch gives an entry its whole life again.
func (t *table[V]) touch(now int64, i int32) {
	t.unlink(i)
	t.append(now, i)
}

// remove frees a slot.
func (t *table[V]) remove(i int32) {
	t.unlink(i)
	s := &t.slots[i]
	link := &t.heads[s.head]
	for *link != i {
		link = &t.slots[*link].next
	}
	*link = s.next
	*s = slot[V]{next: t.free} // values may hold pointers
	t.free = i
	t.used--
}

// expire removes entries that have run out, at most limit of them.
func (t *table[V]) expire(now int64, limit int) {
	for ; limit > 0 && t.stale(now); limit-- {
		t.expired++
		t.remove(t.oldest)
	}
}

// stale reports whether there are entries that have run out.
func (t *table[V]) stale(now int64) bool {
	return t.oldest != none && t.slots[t.oldest].deadline <= now
}

func (t *table[V]) headOf(key netip.AddrPort) uint64 {
	lo, _ := t.prf.peer(useTable, key, 0)
	return lo & uint64(len(t.heads)-1)
}

// append makes a slot the newest. A clock that goes back must not break the order of
// deadlines, so no deadline is earlier than that of the slot before.
func (t *table[V]) append(now int64, i int32) {
	s := &t.slots[i]
	s.deadline = now + t.life
	s.older, s.newer = t.newest, none
	if t.newest == none {
		t.oldest = i
	} else {
		s.deadline = max(s.deadline, t.slots[t.newest].deadline)
		t.slots[t.newest].newer = i
	}
	t.newest = i
}

// unlink takes a slot out of the order of age.
func (t *table[V]) unlink(i int32) {
	s := &t.slots[i]
	if s.older == none {
		t.oldest = s.newer
	} else {
		t.slots[s.older].newer = s.newer
	}
	if s.newer == none {
		t.newest = s.older
	} else {
		t.slots[s.newer].older = s.older
	}
}
