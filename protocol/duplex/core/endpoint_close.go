package core

import "time"

// closing is the end of a connection.
type closing struct {
	close Close
	until time.Time // in StateClosing
	due   bool      // EventClosed was not polled yet

	goodbye bool // the peer closed main in good order, before we did

	// written: nothing was left to be written, so that the peer may get all of it.
	written bool
}

// Close ends the connection when the queue of main has been written, or Config.Linger has
// passed. text is for our own log and events: the dialect has no message for it.
func (e *Endpoint) Close(now time.Time, text string) {
	e.now = now
	e.leave(Close{Reason: ReasonClosed, Text: text})
}

// leave begins to end.
func (e *Endpoint) leave(c Close) {
	if e.state >= StateClosing {
		return
	}
	e.state = StateClosing
	e.closing.close, e.closing.until = c, e.now.Add(e.cfg.Linger)
	e.letGo()
	e.leaveIfWritten()
}

// leaveIfWritten ends a connection that was only waiting for its last bytes to go.
func (e *Endpoint) leaveIfWritten() {
	if e.state != StateClosing {
		return
	}
	if e.closing.written = e.out.size+e.out.flying == 0; e.closing.written || e.cfg.Linger == 0 {
		e.end(e.closing.close)
	}
}

// Abort ends the connection at once and drops the queue of main.
func (e *Endpoint) Abort(now time.Time, text string) {
	e.now = now
	e.end(Close{Reason: ReasonClosed, Text: text})
}

// Flushed reports whether a connection that has ended had written all of its queue. If so, its peer may still read it.
func (e *Endpoint) Flushed() bool { return e.closing.written }

// HandleEnd tells the endpoint that main has ended. If text is empty, the peer closed it.
// Otherwise it broke, and text is the system's error. "losing main ends the player".
func (e *Endpoint) HandleEnd(now time.Time, text string) {
	e.now = now
	switch {
	case e.state == StateClosing:
		e.end(e.closing.close)
	case text == "":
		// A message that was cut short is not how anybody takes leave.
		e.closing.goodbye = e.stream.Held() == 0 && e.state != StateClosed
		e.end(Close{Reason: ReasonPeer, Remote: true})
	default:
		e.end(Close{Reason: ReasonLost, Remote: true, Text: text})
	}
}

// protocol ends a connection whose peer broke the rules: "on main the connection is
// closed".
func (e *Endpoint) protocol(text string) { e.end(Close{Reason: ReasonProtocol, Text: text}) }

// end ends the connection now.
func (e *Endpoint) end(c Close) {
	if e.state == StateClosed {
		return
	}
	e.state = StateClosed
	e.closing.close, e.closing.due = c, true
	e.letGo()
	e.out.clear(e.lender)
	e.stream.close()
	if e.mirror != nil {
		e.mirror.clear()
	}
}

// letGo lets go of what a connection that ends has no more use for.
func (e *Endpoint) letGo() {
	e.feed.loose.Clear(e.lender)
	if e.feed.search != nil {
		e.feed.order.clear(e.lender)
	}
	e.feed.up = false
	e.asked.clear(e.lender)
	e.owed.clear(e.lender)
}
