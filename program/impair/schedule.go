package impair

import (
	"container/heap"
	"sync"
	"time"
)

// schedule sends what is due, from one goroutine, in the order of time.
type schedule struct {
	mu      sync.Mutex
	some    sync.Cond // on mu: something waits, or it is closed
	less    sync.Cond // on mu: less waits, or it is closed
	most    int       // bytes that may wait
	items   items
	serial  uint64
	pending int // bytes
	late    Lateness
	closed  bool
	done    chan struct{}
}

// item is something to be sent at its time. What is due at once goes in the order in which
// it came.
type item struct {
	at     time.Time
	serial uint64
	data   []byte
	send   func(data []byte)
}

type items []item

func (l items) Len() int { return len(l) }
func (l items) Less(i, j int) bool {
	if !l[i].at.Equal(l[j].at) {
		return l[i].at.Before(l[j].at)
	}
	return l[i].serial < l[j].serial
}
func (l items) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *items) Push(x any)   { *l = append(*l, x.(item)) }
func (l *items) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	(*l)[last] = item{}
	*l = (*l)[:last]
	return x
}

func newSchedule(most int) *schedule {
	s := &schedule{most: most, done: make(chan struct{})}
	s.some.L, s.less.L = &s.mu, &s.mu
	go s.run()
	return s
}

// put has data sent at its time. It reports false if too much waits already.
func (s *schedule) put(at time.Time, data []byte, send func([]byte)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.pending+len(data) > s.most {
		return false
	}
	s.add(at, data, send)
	return true
}

// hold has data sent at its time, and waits itself while too much waits already. It reports false when
// the schedule is closed.
func (s *schedule) hold(at time.Time, data []byte, send func([]byte)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pending+len(data) > s.most && !s.closed {
		s.less.Wait()
	}
	if s.closed {
		return false
	}
	s.add(at, data, send)
	return true
}

func (s *schedule) add(at time.Time, data []byte, send func([]byte)) {
	s.serial++
	s.pending += len(data)
	heap.Push(&s.items, item{at, s.serial, data, send})
	if len(s.items) == 1 {
		s.some.Signal()
	}
}

// lateness returns a copy of what was measured.
func (s *schedule) lateness() Lateness {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

// close ends the schedule: what waits is not sent.
func (s *schedule) close() {
	s.mu.Lock()
	s.closed = true
	s.some.Broadcast()
	s.less.Broadcast()
	s.mu.Unlock()
	<-s.done
}

func (s *schedule) run() {
	defer close(s.done)
	for {
		it, wait, ok := s.next(time.Now())
		switch {
		case !ok:
			return
		case wait > 0:
			sleep(min(wait, nap))
		default:
			it.send(it.data)
		}
	}
}

// next returns what is due, or how long it is until something is. It waits until there is
// something, and reports false when it is closed.
func (s *schedule) next(now time.Time) (it item, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.items) == 0 && !s.closed {
		s.some.Wait()
		now = time.Now()
	}
	if s.closed {
		return item{}, 0, false
	}
	if wait := s.items[0].at.Sub(now); wait > 0 {
		return item{}, wait, true
	}
	it = heap.Pop(&s.items).(item)
	s.pending -= len(it.data)
	s.less.Broadcast()
	s.late.add(now.Sub(it.at))
	return it, 0, true
}
