package reliable

import (
	"time"

	"parley/internal/lend"
)

// flight is one reliable packet from Send to its acknowledgement.
type flight struct {
	number uint64
	data   []byte
	shared *lend.Shared  // owner of the data, if it is not ours alone
	first  time.Duration // first transmission
	last   time.Duration // newest transmission
	due    time.Duration // when the timer takes it for lost
	copyAt time.Duration // when its next copy goes out
	tx     uint64        // the place of its datagram among all, without copies

	before     uint32 // bytes taken before it, the low bits
	prev, next uint32 // neighbours on the wire, by tx
	chain      uint32 // the flight behind it in the express or resend queue, among the losses, or, while it flies, among the timers
	sooner     uint32 // the flight before it among the timers
	copyChain  uint32 // the flight behind it in its queue of copies

	tag     uint32
	whole   uint16 // the size of its datagram, if it is the first that was timed in one that others may share
	resends uint8  // by timer; these count as tries
	fast    uint8  // resends because later packets were acknowledged
	copies  uint8  // still to go out ahead of loss
	lane    uint8  // 0 for none, else lane + 1
	state   flightState
	byTimer bool // the resend that is due is the timer's
	report  bool // a loss is reported, not resent
	chained bool // it is in a queue, so its slot stays
	copying bool // it is in a queue of copies, so its slot stays
	joined  bool // it went out behind others in a datagram
}

type flightState uint8

const (
	queued flightState = iota + 1 // accepted, not yet on the wire
	flying                        // on the wire, unacknowledged
	lost                          // taken for lost, about to be resent
	probe                         // reported lost, kept as the newest
	done                          // acknowledged, or reported lost and dropped
)

// flights is the ring of packets between Send and acknowledgement, in the order of their
// numbers. Slots have ids that grow by one and wrap. A slot is reused only when nothing
// refers to it any more.
type flights struct {
	slots []flight  // a power of two, nil while empty
	lone  [1]flight // the slot of a packet that flies alone
	head  uint32    // id of the oldest slot
	count uint32
}

func (f *flights) at(id uint32) *flight { return &f.slots[id&uint32(len(f.slots)-1)] }

// push appends a slot and returns its id.
func (f *flights) push(b *Pool) (uint32, *flight) {
	if int(f.count) == len(f.slots) {
		f.grow(b)
	}
	id := f.head + f.count
	f.count++
	return id, f.at(id)
}

func (f *flights) grow(b *Pool) {
	old := f.slots
	if old == nil {
		f.slots = f.lone[:]
		return
	}
	f.slots = b.flights.Take(2 * len(old))
	for i := range f.count {
		id := f.head + i
		*f.at(id) = old[id&uint32(len(old)-1)]
	}
	if len(old) == 1 {
		f.lone[0] = flight{}
	} else {
		b.flights.Outgrown(old)
	}
}

// trim drops finished slots at the old end, and gives the table back once it is empty.
func (f *flights) trim(b *Pool) {
	for f.count > 0 {
		e := f.at(f.head)
		if e.state != done || e.chained || e.copying {
			return
		}
		f.head++
		f.count--
	}
	if f.slots == nil {
		return
	}
	if len(f.slots) > 1 {
		b.flights.Give(f.slots)
	}
	f.slots = nil
}

// find returns the slot of number n.
func (f *flights) find(n uint64) (uint32, *flight) {
	if f.count == 0 {
		return 0, nil
	}
	base := f.at(f.head).number
	if n < base {
		return 0, nil
	}
	// Numbers grow by at least one a slot, so n is at most n−base slots along:
	// exactly there if every number is a reliable packet, as in relay.
	hi := uint32(min(n-base, uint64(f.count-1)))
	if e := f.at(f.head + hi); e.number == n {
		return f.head + hi, e
	}
	lo := uint32(0)
	for lo < hi {
		mid := (lo + hi) / 2
		if f.at(f.head+mid).number < n {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if e := f.at(f.head + lo); e.number == n {
		return f.head + lo, e
	}
	return 0, nil
}

// line is a queue of flights chained through their slots.
type line struct {
	head, tail uint32
	count      uint32
}

// lineAppend puts a flight into the express or resend queue, or among the losses.
func (f *flights) lineAppend(l *line, id uint32) {
	f.at(id).chained = true
	if l.count == 0 {
		l.head = id
	} else {
		f.at(l.tail).chain = id
	}
	l.tail = id
	l.count++
}

// linePrepend puts a flight before all others.
func (f *flights) linePrepend(l *line, id uint32) {
	e := f.at(id)
	e.chained, e.chain = true, l.head
	if l.count == 0 {
		l.tail = id
	}
	l.head = id
	l.count++
}

// lineRemove takes a flight out of a queue. It must not be the first.
func (f *flights) lineRemove(l *line, id uint32) {
	before := l.head
	for f.at(before).chain != id {
		before = f.at(before).chain
	}
	f.at(before).chain = f.at(id).chain
	if l.tail == id {
		l.tail = before
	}
	l.count--
}

func (f *flights) linePop(l *line) {
	e := f.at(l.head)
	e.chained = false
	l.head = e.chain
	l.count--
}

func (f *flights) copyAppend(l *line, id uint32) {
	f.at(id).copying = true
	if l.count == 0 {
		l.head = id
	} else {
		f.at(l.tail).copyChain = id
	}
	l.tail = id
	l.count++
}

func (f *flights) copyPop(l *line) {
	e := f.at(l.head)
	e.copying = false
	l.head = e.copyChain
	l.count--
}
