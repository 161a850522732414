package carry

import "time"

// Arrivals gathers what several sessions bring at once, so that each core is woken once for all of them. The zero value is empty. One goroutine
// has it, and calls Flush behind the calls of Deliver.
type Arrivals struct{ list []*Session }

// Deliver is Session.Deliver at a time that is known, but for the waking of the core.
func (a *Arrivals) Deliver(now time.Time, s *Session, b []byte) bool {
	list, ok := s.take(now, b)
	if list {
		a.list = append(a.list, s)
	}
	return ok
}

// Flush tells the cores.
func (a *Arrivals) Flush() {
	for list := a.list; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].hall == list[0].hall {
			n++
		}
		list[0].hall.list(list[:n]...)
		list = list[n:]
	}
	clear(a.list)
	a.list = a.list[:0]
}
