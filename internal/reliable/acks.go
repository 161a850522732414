package reliable

import "time"

// acks is the list of acknowledgements that a receiver has yet to send, oldest first. The
// zero value is empty.
type acks struct {
	ranges []ackRange // from index taken on; lent by the Pool if it has room for more than one
	taken  int
	lone   [1]ackRange   // the room for a single range, the usual case
	due    time.Duration // when they are to go out; 0 if there are none
	count  int           // numbers in all ranges
}

// fewRanges is the size of the first table that is lent: 256 bytes.
const fewRanges = 16

// ackRange is a run of numbers, each to be acknowledged once.
type ackRange struct {
	first uint64
	count uint32
}

// add adds an acknowledgement of n that is due then. It returns how many older ones were forgotten to make
// room.
func (a *acks) add(due time.Duration, n uint64, b *Pool) (forgotten int) {
	a.due = earliest(a.due, due)
	a.count++
	if last := len(a.ranges) - 1; last >= a.taken {
		switch r := &a.ranges[last]; n {
		case r.first + uint64(r.count):
			r.count++
			return 0
		case r.first - 1: // a copy of the packet before rides behind a packet
			r.first, r.count = n, r.count+1
			return 0
		}
	}
	if len(a.ranges)-a.taken == maxAckRanges {
		forgotten = int(a.ranges[a.taken].count)
		a.count -= forgotten
		a.taken++
	}
	if len(a.ranges) == cap(a.ranges) {
		a.makeRoom(b)
	}
	a.ranges = append(a.ranges, ackRange{n, 1})
	return forgotten
}

// makeRoom makes room for one more range at the end.
func (a *acks) makeRoom(b *Pool) {
	old := a.ranges
	switch {
	case a.taken > 0:
		a.ranges, a.taken = old[:copy(old, old[a.taken:])], 0
	case old == nil:
		a.ranges = a.lone[:0]
	default:
		a.ranges = append(b.ranges.Take(max(fewRanges, 2*len(old)))[:0], old...)
		a.leave(old, b)
	}
}

// leave gives back ranges that were lent.
func (a *acks) leave(ranges []ackRange, b *Pool) {
	if cap(ranges) > len(a.lone) {
		b.ranges.Give(ranges[:cap(ranges)])
	}
}

// ready reports whether acknowledgements are to go out now.
func (a *acks) ready(at time.Duration, c *ReceiveConfig) bool {
	return a.count > 0 && (at >= a.due || a.count >= c.AckCount)
}

// take moves up to len(dst) numbers into dst and returns how many.
func (a *acks) take(dst []uint64, b *Pool) int {
	n := 0
	for n < len(dst) && a.taken < len(a.ranges) {
		r := &a.ranges[a.taken]
		for n < len(dst) && r.count > 0 {
			dst[n] = r.first
			r.first++
			r.count--
			n++
		}
		if r.count == 0 {
			a.taken++
		}
	}
	a.count -= n
	if a.count == 0 {
		a.clear(b)
	}
	return n
}

// takeRun takes up to most numbers that follow each other, the oldest first. There is one at least.
func (a *acks) takeRun(most int, b *Pool) (first uint64, n int) {
	r := &a.ranges[a.taken]
	first, n = r.first, min(most, int(r.count))
	r.first += uint64(n)
	r.count -= uint32(n)
	if r.count == 0 {
		a.taken++
	}
	if a.count -= n; a.count == 0 {
		a.clear(b)
	}
	return first, n
}

// clear empties the list.
func (a *acks) clear(b *Pool) {
	a.leave(a.ranges, b)
	*a = acks{}
}
