package core

import "time"

// This file is how a client's shell feeds an Endpoint: messages that were checked wait outside
// until there is room for them here, and are not copied into the queue of ordered ones.

// Offer is Send for a client's message that was checked against Bounds. It reports whether it
// took the message. If not, the caller may offer it again after the next datagram. A message
// that was taken before Close is sent. If the connection has ended, Offer takes the message
// and drops it.
func (e *Endpoint) Offer(now time.Time, mode Mode, name string, data []byte) bool {
	e.now = now
	switch {
	case e.state == StateConnecting:
		return false // a server that had forgotten us: the handshake begins anew
	case !e.talking():
		return true
	case e.Bounds().checkSize(mode, name, data) != nil:
		// Between its check and now the server has become another, which takes less.
		e.fail(now, Close{Reason: ReasonOverflow})
		return true
	}
	e.talked = true
	if mode != Ordered {
		return e.send(now, mode, name, data) == nil
	}
	if e.outgoing.Len() > 0 {
		return false
	}
	size := messageOverhead + len(name) + len(data)
	if size > e.most() {
		return e.enqueue(now, name, data) == nil
	}
	link, ok := e.mayFollow(laneMessage)
	return ok && e.sendNamed(now, linkFlags|link<<orderLinkShift, laneMessage, size, name, data) == nil
}

// AwaitMore tells the endpoint whether more messages wait to be offered. A goodbye waits for
// them, as it waits for all messages sent before it.
func (e *Endpoint) AwaitMore(now time.Time, more bool) {
	e.client.more = more
	if !more && e.ending != nil {
		e.leave(now)
	}
}
