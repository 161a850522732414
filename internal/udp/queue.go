package udp

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/datagram"
)

// queue holds the datagrams that wait for one reader, in a ring of buffers that are
// reused. The plain socket and the memory socket read from it.
//
// The reader's batch points into the ring: the datagrams that were taken stay
// at its head until the next take.
type queue struct {
	mu     sync.Mutex
	ring   []queued
	head   int // the oldest slot in use
	taken  int // slots from head that the reader's batch points into
	count  int // slots in use, taken ones included
	limit  int // most slots
	closed bool
	err    error // why the feeder ended, if not by close

	signal chan struct{} // capacity 1: something changed for the reader
	room   chan struct{} // capacity 1: something changed for the feeder
	woken  atomic.Bool
	timer  *time.Timer // owned by the reader
	counts *counters
}

type queued struct {
	from netip.AddrPort
	data []byte
}

func newQueue(limit int, counts *counters) *queue {
	return &queue{
		ring:   make([]queued, min(limit, 64)),
		limit:  limit,
		signal: make(chan struct{}, 1),
		room:   make(chan struct{}, 1),
		counts: counts,
	}
}

// push copies a datagram into the queue, or counts it as dropped when the queue is full:
// the newest is dropped, as in a kernel.
func (q *queue) push(from netip.AddrPort, data []byte) {
	q.mu.Lock()
	s := q.slot()
	if s == nil {
		q.mu.Unlock()
		q.counts.inDropped.Add(1)
		return
	}
	s.from = from
	s.data = append(s.data[:0], data...)
	q.count++
	q.mu.Unlock()
	notify(q.signal)
}

// slot returns the first free slot, or nil when there is none. The caller holds
// the lock.
func (q *queue) slot() *queued {
	if q.closed || q.count == q.limit {
		return nil
	}
	if q.count == len(q.ring) {
		grown := make([]queued, min(2*len(q.ring), q.limit))
		n := copy(grown, q.ring[q.head:])
		copy(grown[n:], q.ring[:q.head])
		q.ring, q.head = grown, 0
	}
	return &q.ring[(q.head+q.count)%len(q.ring)]
}

// take puts as many datagrams into in as fit, and returns how many.
func (q *queue) take(in *RecvBatch) (int, error) {
	in.Clear()
	q.mu.Lock()
	q.head = (q.head + q.taken) % len(q.ring)
	q.count -= q.taken
	q.taken = 0
	if q.closed {
		q.mu.Unlock()
		return 0, ErrClosed
	}
	n := min(q.count, in.Cap())
	for i := range n {
		s := &q.ring[(q.head+i)%len(q.ring)]
		in.Add(s.from, s.data, 0)
	}
	q.taken = n
	err := q.err
	q.mu.Unlock()
	notify(q.room)
	if n > 0 {
		q.counts.received(&in.Tally)
		return n, nil
	}
	return 0, err
}

// serve is driver.serve.
func (q *queue) serve(in *RecvBatch, turn datagram.Turn) error {
	due := true
	var until time.Time
	for {
		n, err := q.take(in)
		if err != nil {
			return err
		}
		woken := q.woken.Swap(false)
		if n > 0 || woken || due {
			var what datagram.Next
			what, until = turn(&in.RecvBatch, woken)
			due = what == datagram.Again
			if what == datagram.Stop {
				return nil
			}
			if due || n > 0 {
				continue
			}
		}
		due = q.wait(until)
	}
}

// wait sleeps until something changes or the time until has come. It reports whether the
// time has come.
func (q *queue) wait(until time.Time) bool {
	if until.IsZero() {
		<-q.signal
		return false
	}
	if q.timer == nil {
		q.timer = time.NewTimer(time.Until(until))
	} else {
		q.timer.Reset(time.Until(until))
	}
	select {
	case <-q.signal:
		q.timer.Stop()
		return false
	case <-q.timer.C:
		return true
	}
}

// wake is driver.wake.
func (q *queue) wake() {
	q.woken.Store(true)
	notify(q.signal)
}

// shut closes the queue and reports whether it was open.
func (q *queue) shut() bool {
	q.mu.Lock()
	was := q.closed
	q.closed = true
	q.mu.Unlock()
	notify(q.signal)
	notify(q.room)
	return !was
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
