package core

import "time"

// put queues a frame, whatever the bounds say: for what the endpoint itself has to say.
func (e *Endpoint) put(f *frame) {
	if e.out.held > roomBytes {
		e.shared.fit(f)
	}
	e.out.put(f)
	e.stats.Out++
}

// send queues a message of the endpoint itself.
func (e *Endpoint) send(now time.Time, m *Message) {
	f := e.shared.frame(e.cfg.codec, m)
	e.enqueue(now, f)
	e.shared.release(f)
}

// enqueue queues a frame within the bounds, and reports whether the connection goes on.
//
// "Slow readers have a bounded send queue (1 MiB): entity updates in it are coalesced to the
// newest state first; if it still overflows, the client is dropped with exit 2, and no one
// else waits for it."
func (e *Endpoint) enqueue(now time.Time, f *frame) bool {
	e.put(f)
	if e.out.held <= max(e.out.coalesceAt, firstCoalesce) && e.out.held <= e.cfg.MaxQueue {
		return true
	}
	if e.out.held > max(e.out.coalesceAt, firstCoalesce) || e.out.coalesceAt == 0 {
		e.out.coalesce(e.cfg.codec, e.shared)
		e.stats.Coalesced++
	}
	if e.out.held > e.cfg.MaxQueue {
		e.fail(now, Close{Reason: ReasonOverflow, Exit: ExitNetworkError})
		return false
	}
	return true
}

// mayHold reports whether a client's queue has room for n bytes more. A client has no one to
// blame for an overflow but itself: it is told.
func (e *Endpoint) mayHold(n int) bool { return e.out.held+n+frameOverhead <= e.cfg.MaxQueue }
