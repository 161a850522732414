package shell

import "sync/atomic"

// Limits of what waits between a client's loop and the program.
const (
	// MaxQueuedEvents and MaxQueuedEventBytes bound what a client's loop has ready
	// for the program. Past either it polls no more, so that the engine's own bounds
	// are reached, packets are refused and the server slows down: a server that
	// floods a slow client costs it this much and no more. One event may pass the
	// bytes, as a message may be larger than they are.
	MaxQueuedEvents     = 128
	MaxQueuedEventBytes = 256 << 10

	// ClientBatch is small because a client has one peer, and a program may have
	// thousands of clients: each buffer of a batch is 64 KiB.
	ClientBatch = 4
)

// inbox is the bounded queue of events from a loop to the program. The loop puts
// events in while there is room and else sets stalled, which has the reader wake it.
type inbox[E any] struct {
	queue   chan E
	events  atomic.Int64 // in queue; its len would not do, as nothing says when others see that
	bytes   atomic.Int64 // of those
	stalled atomic.Bool
	size    func(E) int
}

func newInbox[E any](size func(E) int) inbox[E] {
	return inbox[E]{queue: make(chan E, MaxQueuedEvents), size: size}
}

func (b *inbox[E]) full() bool {
	return b.events.Load() >= MaxQueuedEvents || b.bytes.Load() >= MaxQueuedEventBytes
}

// hasRoom reports whether one more event may be put in. If not, the reader knows that
// it is to wake the loop.
func (b *inbox[E]) hasRoom() bool {
	if !b.full() {
		return true
	}
	b.stalled.Store(true)
	return !b.full() // the reader may have been here before it could see that
}

// put adds an event, for which there is room.
func (b *inbox[E]) put(ev E) {
	b.events.Add(1)
	b.bytes.Add(int64(b.size(ev)))
	b.queue <- ev
}

// next waits for the next event, until there are no more: done says that the loop has put
// in all that it will.
func (b *inbox[E]) next(done <-chan struct{}, wake func()) (ev E, ok bool) {
	select {
	case ev = <-b.queue:
	default:
		select {
		case ev = <-b.queue:
		case <-done:
			select {
			case ev = <-b.queue:
			default:
				return ev, false
			}
		}
	}
	b.events.Add(-1)
	b.bytes.Add(-int64(b.size(ev)))
	if b.stalled.Load() && b.events.Load() <= MaxQueuedEvents/2 && b.bytes.Load() <= MaxQueuedEventBytes/2 {
		b.stalled.Store(false)
		wake()
	}
	return ev, true
}
