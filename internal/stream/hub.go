package stream

import (
	"cmp"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/internal/bans"
	"parley/internal/queue"
)

// hub is what the connections of a Listener or a Client share: the list of connections that have something to report, and
// the poller that reads them.
type hub struct {
	wake   func()
	linger time.Duration
	poller *poller // nil: each connection has a goroutine that reads
	closed chan struct{}
	group  sync.WaitGroup

	mu    sync.Mutex
	news  queue.Fifo[*Conn] // connections with something for Turn
	conns map[*Conn]struct{}
	porch *admission.Porch[*Conn] // connections that have not entered; nil at a client

	began time.Time
	door  *bans.Door // nil: nobody is banned

	// Owned by Turn's goroutine.
	kernel         kernel
	turn           []*Conn
	stalled, again []*Conn // connections with bytes that were not taken
}

func (h *hub) init(linger time.Duration) {
	h.linger = cmp.Or(max(linger, 0), DefaultLinger)
	h.wake, h.closed, h.conns, h.began = func() {}, make(chan struct{}), map[*Conn]struct{}{}, time.Now()
}

// clock returns a time as a flow has it.
func (h *hub) clock(now time.Time) time.Duration { return max(now.Sub(h.began), 0) + 1 }

// close cuts all connections and waits for their goroutines.
func (h *hub) close() {
	h.mu.Lock()
	if !h.isClosed() {
		close(h.closed)
	}
	for c := range h.conns {
		c.hangUp()
	}
	h.mu.Unlock()
	h.poller.close()
	h.group.Wait()
}

func (h *hub) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// report puts a connection on Turn's list. h.mu is held.
func (h *hub) report(c *Conn, news uint8) {
	c.news |= news
	if c.queued {
		return
	}
	c.queued = true
	h.news.Push(c)
	if h.news.Len() == 1 {
		h.wake()
	}
}

// Turn is that of Carrier.
func (h *hub) Turn(now time.Time, handler Handler) {
	h.mu.Lock()
	for h.news.Len() > 0 && len(h.turn) < MaxTurn {
		h.turn = append(h.turn, h.news.Pop())
	}
	more := h.news.Len() > 0
	h.mu.Unlock()
	if more {
		h.wake()
	}
	h.stalled, h.again = h.again[:0], h.stalled
	for i, c := range h.again {
		h.again[i] = nil
		c.offer(now)
	}
	for i, c := range h.turn {
		h.turn[i] = nil
		c.tell(now, handler)
	}
	h.turn = h.turn[:0]
}
