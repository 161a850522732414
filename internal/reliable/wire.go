package reliable

import "time"

// wire holds the flying packets in two orders: all of them by their transmission, as later acknowledgements show the oldest of these to be
// lost, and apart from that by their timers. Each order is a ring of links, so that the last one is found from the first.
//
// A packet that was never resent by timer has a delay like that of those before it, so it goes to the end of its ring of
// timers, or close to it. Backoff gives others delays that are many times as long: they have a ring of their own.
type wire struct {
	head    uint32    // transmitted first
	soonest [2]uint32 // due first, of those never resent by timer and of those that were
	left    [2]uint32 // how many there are of each
}

func (w *wire) count() uint32 { return w.left[0] + w.left[1] }

// timers is the ring of timers that a flying packet is in.
func timers(e *flight) int {
	if e.resends > 0 {
		return 1
	}
	return 0
}

// wireAppend puts a flight on the wire, behind all others.
func (f *flights) wireAppend(w *wire, id uint32, e *flight) {
	if w.count() == 0 {
		w.head, e.prev, e.next = id, id, id
	} else {
		head := f.at(w.head)
		e.prev, e.next = head.prev, w.head
		f.at(head.prev).next, head.prev = id, id
	}
	f.timerStart(w, id, e)
}

// wireRemove takes a flight off the wire. The number of its resends must still be that of its transmission.
func (f *flights) wireRemove(w *wire, id uint32, e *flight) {
	f.at(e.prev).next = e.next
	f.at(e.next).prev = e.prev
	if w.head == id {
		w.head = e.next
	}
	f.timerStop(w, id, e)
}

// timerStart gives a flight its place among the timers. That is looked for from the end: it passes those sent before it that are due after
// it, as the resend delay has fallen since.
func (f *flights) timerStart(w *wire, id uint32, e *flight) {
	kind := timers(e)
	w.left[kind]++
	if w.left[kind] == 1 {
		w.soonest[kind], e.sooner, e.chain = id, id, id
		return
	}
	first := f.at(w.soonest[kind])
	last := first.sooner
	if e.due < first.due {
		w.soonest[kind] = id
	} else {
		for f.at(last).due > e.due {
			last = f.at(last).sooner
		}
	}
	before := f.at(last)
	e.sooner, e.chain = last, before.chain
	f.at(before.chain).sooner = id
	before.chain = id
}

func (f *flights) timerStop(w *wire, id uint32, e *flight) {
	kind := timers(e)
	w.left[kind]--
	f.at(e.sooner).chain = e.chain
	f.at(e.chain).sooner = e.sooner
	if w.soonest[kind] == id {
		w.soonest[kind] = e.chain
	}
}

// timerMove gives a flying packet another time at which it is due. That may be sooner than before, as the resend delay falls.
func (s *Sender) timerMove(id uint32, e *flight, due time.Duration) {
	s.flights.timerStop(&s.wire, id, e)
	e.due = due
	s.flights.timerStart(&s.wire, id, e)
	s.timerAt = earliest(s.timerAt, due)
}

// soonest returns the time of the next timer, 0 if nothing flies.
func (s *Sender) soonest() (due time.Duration) {
	for kind, n := range s.wire.left {
		if n > 0 {
			due = earliest(due, s.flights.at(s.wire.soonest[kind]).due)
		}
	}
	return due
}

// expired returns a flight whose timer has run out, false if there is none. Of two it is the one that was sent first.
func (s *Sender) expired(at time.Duration) (id uint32, found bool) {
	for kind, n := range s.wire.left {
		if n == 0 {
			continue
		}
		next := s.wire.soonest[kind]
		if e := s.flights.at(next); e.due <= at && (!found || e.tx < s.flights.at(id).tx) {
			id, found = next, true
		}
	}
	return id, found
}
