package core

import "time"

// closing is how we leave.
type closing struct {
	next  time.Time // when to say it again
	sends int
	close Close
}

// Close ends the conversation when all reliable packages are confirmed. A client then says that
// it leaves, up to three times until the server answers. A server tells the peer once. Send
// returns ErrClosed from now on.
func (e *Endpoint) Close(now time.Time, text string) {
	e.now = now
	c := Close{Reason: ReasonClosed, Text: text}
	switch e.state {
	case StateJoining:
		e.end(c, !e.client) // a client that gives up a try to come back is not to end what it would come back to
	case StateOpen:
		e.flush(now, true)
		e.state, e.seldom().closing.close = StateLeaving, c
		e.depart(now)
	}
}

// depart leaves if nothing is unconfirmed: "a sender waits for its confirmations first".
func (e *Endpoint) depart(now time.Time) {
	if e.state != StateLeaving || e.Unconfirmed() > 0 {
		return
	}
	if !e.client {
		e.end(e.closing.close, true)
		return
	}
	e.state = StateClosing
	e.sender.Close()
	e.sayLeave(now)
}

// sayLeave sends "an empty unreliable package to the server".
func (e *Endpoint) sayLeave(now time.Time) {
	e.sendLoose(farewell)
	e.closing.sends++
	e.closing.next = now.Add(max(2*e.sender.RTT(), leaveEvery))
}

// farewell is what a leaving client says, and what a removed one is told.
var farewell = outgoing{flags: packageFlags(Unreliable, true)}

func (e *Endpoint) closingTimeout(now time.Time) {
	switch {
	case now.Before(e.closing.next):
	case e.closing.sends >= leaveSends:
		e.end(e.closing.close, false)
	default:
		e.sayLeave(now)
	}
}

// fail ends it. A server tells the peer. A client does not, as its farewell would say that it leaves for good: who was lost may come
// back, and is missed soon enough.
func (e *Endpoint) fail(c Close) {
	if e.state == StateJoining {
		c.Text = "the server is not there, or does not let us in"
	}
	e.end(c, !e.client)
}

// Cut ends the conversation at once, even if packages are unconfirmed, and tells the peer.
func (e *Endpoint) Cut(now time.Time, c Close) {
	e.now = now
	if e.state != StateClosed {
		e.end(c, true)
	}
}

// end lets go of everything but what is still to be read, and of the farewell: "A removed
// one is told by an empty unreliable package with bit 4 set".
func (e *Endpoint) end(c Close, tell bool) {
	e.seldom().was = e.progress()
	e.state = StateClosed
	e.closing.close = c
	e.last = true
	if c.Reason == ReasonClosed {
		e.confirmAll()
	}
	e.letGo(c.Reason == ReasonClosed)
	if tell && !(e.rules.Quiet && !e.client) {
		e.sendLoose(farewell)
	}
}

// confirmAll writes down the confirmations that are owed, to go out before the farewell: a peer
// that is removed in good order is not to wonder whether its last packages came.
func (e *Endpoint) confirmAll() {
	buf := e.shared.buffers.Take(MaxDatagram)
	if n, ok := e.confirm(buf, maxConfirmAfter); ok {
		e.seldom().parting = buf[:n]
		return
	}
	e.shared.buffers.Give(buf)
}

// letGo gives up what was to be sent, but for unreliable packages that may still go.
func (e *Endpoint) letGo(keepLoose bool) {
	e.sender.Close()
	e.dropBacklog()
	if keepLoose {
		return
	}
	if e.rare != nil && e.parting != nil {
		e.shared.buffers.Give(e.parting)
		e.parting = nil
	}
	for e.looseOut.Len() > 0 {
		e.release(e.looseOut.Pop())
	}
	e.looseOut.Trim()
	e.looseHeld = 0
}

// forget lets go of what nobody will read.
func (e *Endpoint) forget() {
	if e.lentIn != nil {
		e.shared.buffers.Give(e.lentIn)
		e.lentIn = nil
	}
	e.looseIn.Clear(&e.shared.buffers)
	e.receiver.Close()
}
