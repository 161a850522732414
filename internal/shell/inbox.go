package shell

import (
	"sync"

	"parley/internal/queue"
)

// Limits of the queues between a client's loop and the program.
const (
	// MaxQueuedEvents and MaxQueuedEventBytes bound the events that a client's loop has ready
	// for the program. Beyond either, the loop polls no more events. Then the engine reaches
	// its own bounds, refuses packets, and the server slows down. So a server that floods a
	// slow client costs it this much and no more. A single event may exceed the bytes, as a
	// message may be larger.
	MaxQueuedEvents     = 512
	MaxQueuedEventBytes = 256 << 10

	// ClientBatch is the batch size of a client's socket. It is small because a client has
	// one peer, and a program may have thousands of clients: each buffer of a batch is 64
	// KiB.
	ClientBatch = 4
)

// inbox is the bounded queue of events from a loop to the program. The loop puts events in
// while there is room, and shows all events of a turn at once, so that they wake a reader
// only once. Without room it sets stalled, and a reader wakes the loop later.
type inbox[E any] struct {
	size func(E) int

	// Owned by the loop.
	staged []E   // events put in and not shown yet
	events int   // how many wait, as far as the loop knows; there may be fewer
	bytes  int64 // of those

	mu      sync.Mutex
	list    queue.Fifo[E]
	waits   int64 // bytes of list
	stalled bool
	readers int           // readers that wait
	ready   chan struct{} // capacity 1: there are events for a reader
}

func newInbox[E any](size func(E) int) inbox[E] {
	return inbox[E]{ready: make(chan struct{}, 1), size: size}
}

func (b *inbox[E]) full() bool { return b.events >= MaxQueuedEvents || b.bytes >= MaxQueuedEventBytes }

// hasRoom reports whether one more event may be put in. If not, a reader wakes the loop when
// there is room again.
func (b *inbox[E]) hasRoom() bool {
	if !b.full() {
		return true
	}
	b.show()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events, b.bytes = b.list.Len(), b.waits
	b.stalled = b.full()
	return !b.stalled
}

// put adds an event, for which there is room.
func (b *inbox[E]) put(ev E) {
	b.staged = append(b.staged, ev)
	b.events++
	b.bytes += int64(b.size(ev))
}

// show gives the readers the events that were put in.
func (b *inbox[E]) show() {
	if len(b.staged) == 0 {
		return
	}
	b.mu.Lock()
	for i := range b.staged {
		b.waits += int64(b.size(b.staged[i]))
		b.list.Push(b.staged[i])
	}
	b.mu.Unlock()
	notify(b.ready)
	clear(b.staged)
	if b.staged = b.staged[:0]; cap(b.staged) > 64 {
		b.staged = nil // a burst must not make a client large for the rest of its life
	}
}

// next waits for the next event, and returns false when there are no more: done is closed
// when the loop has shown its last.
func (b *inbox[E]) next(done <-chan struct{}, wake func()) (ev E, ok bool) {
	for ended := false; ; {
		b.mu.Lock()
		if b.list.Len() > 0 {
			break
		}
		if ended {
			b.mu.Unlock()
			return ev, false
		}
		b.readers++
		b.mu.Unlock()
		select {
		case <-b.ready:
		case <-done:
			ended = true
		}
		b.mu.Lock()
		b.readers--
		b.mu.Unlock()
	}
	ev = b.list.Pop()
	b.list.Trim()
	b.waits -= int64(b.size(ev))
	others := b.readers > 0 && b.list.Len() > 0
	stalled := b.stalled && b.list.Len() <= MaxQueuedEvents/2 && b.waits <= MaxQueuedEventBytes/2
	if stalled {
		b.stalled = false
	}
	b.mu.Unlock()
	if others {
		notify(b.ready)
	}
	if stalled {
		wake()
	}
	return ev, true
}

// queued returns how many events wait, and their bytes.
func (b *inbox[E]) queued() (events int, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list.Len(), b.waits
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
