package reliable

import (
	"time"

	"parley/internal/lend"
)

// parcel is a received packet that waits: for earlier ones or for the
// application.
type parcel struct {
	number uint64
	before uint64 // Linked: its predecessor
	data   []byte
	at     time.Duration // when it came
	lane   uint8
}

// parcelBytes is the memory of a parcel beside its data.
const parcelBytes = 56

// parcels is a queue of parcels. The zero value is empty. A parcel that waits alone, as
// most do, is kept in the queue itself. Several are kept in a lent ring.
type parcels struct {
	count int
	bytes int // of all parcels, each with its overhead
	each  int // the overhead of a parcel, in bytes
	lone  parcel
	ring  []parcel // a power of two, nil while at most one waits
	head  uint32
	usual uint16 // the ring size that was needed last
}

func (q *parcels) at(i int) *parcel {
	if q.ring == nil {
		return &q.lone
	}
	return &q.ring[(int(q.head)+i)&(len(q.ring)-1)]
}

// push appends a place for n bytes of data and returns it to be filled in.
func (q *parcels) push(b *Pool, n int) *parcel {
	if q.count > 0 && q.count >= len(q.ring) {
		q.grow(b)
	}
	q.count++
	q.bytes += n + q.each
	return q.at(q.count - 1)
}

func (q *parcels) grow(b *Pool) {
	ring := b.parcels.Take(max(2*len(q.ring), int(q.usual)))
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	if q.ring != nil {
		b.parcels.Outgrown(q.ring)
	}
	q.ring, q.head, q.lone = ring, 0, parcel{}
}

// insert puts a parcel in its place by number. For most that is the end.
func (q *parcels) insert(b *Pool, p *parcel) {
	*q.push(b, len(p.data)) = *p
	for i := q.count - 1; i > 0 && q.at(i-1).number > p.number; i-- {
		*q.at(i), *q.at(i - 1) = *q.at(i - 1), *q.at(i)
	}
}

// pop removes the first parcel; its data then belongs to the caller.
func (q *parcels) pop(b *Pool) {
	first := q.at(0)
	q.bytes -= len(first.data) + q.each
	first.data = nil
	q.head++
	q.count--
	if q.count == 0 && q.ring != nil {
		q.leave(b)
	}
}

// unpop puts back the parcel that was popped last.
func (q *parcels) unpop(b *Pool, p *parcel) {
	if q.count == 0 {
		*q.push(b, len(p.data)) = *p
		return
	}
	if q.count >= len(q.ring) {
		q.grow(b)
	}
	q.head--
	q.count++
	q.bytes += len(p.data) + q.each
	*q.at(0) = *p
}

// leave gives back a ring that is empty. The queue starts with the same size next time,
// instead of growing to it by doubling. If it has used at most a quarter of the ring, it
// takes a smaller one next.
func (q *parcels) leave(b *Pool) {
	q.usual = uint16(min(len(q.ring), lend.LargeTable))
	if int(q.head) <= len(q.ring)/4 {
		q.usual /= 2
	}
	b.parcels.Give(q.ring)
	q.ring, q.head = nil, 0
}

// has reports whether the parcel with this number waits here; the queue is in
// order of number.
func (q *parcels) has(n uint64) bool {
	lo, hi := 0, q.count
	for lo < hi {
		mid := (lo + hi) / 2
		if q.at(mid).number < n {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < q.count && q.at(lo).number == n
}

// drop drops all parcels and returns how many there were.
func (q *parcels) drop(b *Pool) int {
	n := q.count
	for q.count > 0 {
		b.Give(q.at(0).data)
		q.pop(b)
	}
	return n
}
