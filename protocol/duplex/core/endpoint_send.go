package core

import (
	"time"

	"parley/internal/way"
)

// Update sends the present value of the element sid on the feed. It goes over main while there
// is no feed, or if it is too large for a datagram: "updates then go both ways as SYNC_MSG". On
// the feed it may be lost, and is never delivered after a newer one. An update that Elements.Updates
// has does not go over main: Update returns ErrNoFeed.
func (e *Endpoint) Update(now time.Time, sid int16, data []byte) error {
	if err := e.ready(now, &Message{Kind: KindUpdate, SID: sid, Data: data}); err != nil {
		return err
	}
	e.feed.forget(sid)
	if !e.feed.up || !e.fits(3+len(data)) {
		if _, only := e.cfg.rules.elements[e.side].updates[sid]; only {
			return ErrNoFeed
		}
		return e.putMain(&Message{Kind: KindSync, SID: sid, Data: data})
	}
	e.putFeed(&Message{Kind: KindUpdate, SID: sid, Data: data})
	return nil
}

// fits reports whether a message of so many bytes goes on the feed.
func (e *Endpoint) fits(n int) bool {
	return HeaderBytes+n <= e.cfg.MaxUpdate && (!way.IsSession(e.feed.peer.Addr()) || HeaderBytes+n <= way.Largest(e.feed.peer.Addr()))
}

// Insist is Update for a value that may be the last for a while, as where a player steers: on the feed it is sent again after 8 and after 32 ms,
// unless another one or a query follows. A sender that goes on says its last value again after 40 and after 160 ms. The peer is told of each that
// arrives.
func (e *Endpoint) Insist(now time.Time, sid int16, data []byte) error {
	if err := e.Update(now, sid, data); err != nil {
		return err
	}
	if e.feed.up && e.fits(3+len(data)) {
		e.feed.keep(now, sid, data, 2)
	}
	return nil
}

// Sync sends the present value of the element sid, or an event of the game, on main: reliably
// and in order.
func (e *Endpoint) Sync(now time.Time, sid int16, data []byte) error {
	m := Message{Kind: KindSync, SID: sid, Data: data}
	if err := e.ready(now, &m); err != nil {
		return err
	}
	e.feed.forget(sid)
	return e.putMain(&m)
}

// tellNow sends the present value of an element that the client knows, and returns how many bytes that takes on its way.
func (e *Endpoint) tellNow(slot int32, el *element) int {
	if e.feed.up && !e.view.elements.large.has(slot) {
		el.told++
		e.stats.Updates++
		e.feed.forget(el.sid)
		e.putFeed(&Message{Kind: KindUpdate, SID: el.sid, Data: el.data})
		return datagramBytes + HeaderBytes + 3 + len(el.data)
	}
	e.tellOnMain(slot, el)
	return 3 + len(el.data)
}

// Signal sends a signal of the game. On the feed it may be lost. While there is no feed, it
// goes over main.
func (e *Endpoint) Signal(now time.Time, on Channel, code uint8) error {
	m := Message{Kind: KindSignal, Code: code}
	if code < FirstSignal || code > LastSignal {
		return ErrCode
	}
	if err := e.ready(now, &m); err != nil {
		return err
	}
	if on == Feed && e.feed.up {
		e.putFeed(&m)
		return nil
	}
	return e.putMain(&m)
}

// RequestSync asks the server for all elements that this client may see, with SYNC_REQ.
// EventSynced follows when they have arrived. It is for clients only.
func (e *Endpoint) RequestSync(now time.Time) error {
	if e.side != FromClient {
		return ErrCode
	}
	m := Message{Kind: KindSignal, Code: CodeSyncReq}
	if err := e.ready(now, &m); err != nil {
		return err
	}
	return e.putMain(&m)
}

// ready reports whether a message of the game may be sent.
func (e *Endpoint) ready(now time.Time, m *Message) error {
	e.now = now
	switch {
	case e.state >= StateClosing:
		return ErrClosed
	case e.state != StateOpen:
		return ErrNotJoined
	}
	return e.cfg.rules.check(e.side, m)
}

// signal sends a signal of the dialect on main.
func (e *Endpoint) signal(code uint8) {
	// Its queue is full only if the peer reads nothing, which ends the connection or
	// will.
	_ = e.putMain(&Message{Kind: KindSignal, Code: code})
}

// putMain queues a message for main: "each main connection has a send queue of at most
// 1 MiB (option); past it the client is disconnected with a logged reason".
func (e *Endpoint) putMain(m *Message) error {
	b := m.AppendTo(e.lender.Take(messageRoom + len(m.Data))[:0])
	defer e.lender.Give(b)
	if e.Queued()+len(b) > e.cfg.MaxQueue {
		if e.side == FromServer {
			e.end(Close{Reason: ReasonSlow})
			return ErrClosed
		}
		return ErrQueueFull
	}
	e.out.put(b, e.lender)
	return nil
}

// messageRoom is what a message has beside its data, at most.
const messageRoom = 8

// hasRoom reports whether main may be given more that can also wait: see fillBytes.
func (e *Endpoint) hasRoom() bool { return e.Queued() < fillBytes }

// PollBytes writes the next bytes of main into buf and returns their number. Until Written is
// called, they count as being written, and PollBytes returns 0.
func (e *Endpoint) PollBytes(buf []byte) int {
	if e.state == StateClosed || e.out.flying > 0 {
		return 0
	}
	if e.view != nil && e.state == StateOpen {
		e.fillMain()
	}
	n := e.out.moveTo(buf, e.lender)
	e.stats.MainOutBytes += uint64(n)
	return n
}

// Written tells the endpoint that the bytes of PollBytes were given to the system.
func (e *Endpoint) Written(now time.Time) {
	e.now = now
	e.out.flying = 0
	e.leaveIfWritten()
}
