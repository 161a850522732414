package reliable

import "time"

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

// parcels is a queue of parcels. The zero value is empty. One that waits alone,
// as most do, waits in the queue itself; more wait in a lent ring.
type parcels struct {
	count int
	bytes int // of all that wait, each with its overhead
	each  int // the overhead
	lone  parcel
	ring  []parcel // a power of two, nil while at most one waits
	head  uint32
	usual uint16 // the size of the ring that was of use last
}

func (q *parcels) at(i int) *parcel {
	if q.ring == nil {
		return &q.lone
	}
	return &q.ring[(int(q.head)+i)&(len(q.ring)-1)]
}

// push appends a place for n bytes of data and returns it to be filled in.
func (q *parcels) push(b *Buffers, n int) *parcel {
	if q.count > 0 && q.count >= len(q.ring) {
		q.grow(b)
	}
	q.count++
	q.bytes += n + q.each
	return q.at(q.count - 1)
}

func (q *parcels) grow(b *Buffers) {
	ring := b.takeParcels(max(firstTable, 2*len(q.ring), int(q.usual)))
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	if q.ring != nil {
		clear(q.ring)
		if len(q.ring) < largeTable {
			b.giveParcels(q.ring)
		}
	}
	q.ring, q.head, q.lone = ring, 0, parcel{}
}

// insert puts a parcel in its place by number. Most come last.
func (q *parcels) insert(b *Buffers, p *parcel) {
	*q.push(b, len(p.data)) = *p
	for i := q.count - 1; i > 0 && q.at(i-1).number > p.number; i-- {
		*q.at(i), *q.at(i - 1) = *q.at(i - 1), *q.at(i)
	}
}

// pop removes the first parcel; its data is its taker's.
func (q *parcels) pop(b *Buffers) {
	first := q.at(0)
	q.bytes -= len(first.data) + q.each
	first.data = nil
	q.head++
	q.count--
	if q.count == 0 && q.ring != nil {
		q.leave(b)
	}
}

// unpop puts back what was popped last.
func (q *parcels) unpop(b *Buffers, p *parcel) {
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

// leave gives back a ring that is empty. A queue that fills up to the same size again and
// again need not grow to it by doubling each time; one that has not used a quarter of
// its ring takes a smaller one next.
func (q *parcels) leave(b *Buffers) {
	q.usual = uint16(min(len(q.ring), largeTable))
	if int(q.head) <= len(q.ring)/4 {
		q.usual /= 2
	}
	b.giveParcels(q.ring)
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

// drop lets go of everything and returns how many there were.
func (q *parcels) drop(b *Buffers) int {
	n := q.count
	for q.count > 0 {
		b.Give(q.at(0).data)
		q.pop(b)
	}
	return n
}
