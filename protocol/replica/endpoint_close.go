package replica

import (
	"time"

	"parley/internal/clocksync"
)

// closing is our disconnect on its way.
type closing struct {
	next     time.Time
	until    time.Time
	sends    int
	sequence uint16
	close    Close
}

// sendInit asks to connect: "The client repeats its init (every 250 ms, growing)
// until an accept or a reject comes".
func (e *Endpoint) sendInit(now time.Time) {
	e.put(&e.control, &Packet{Kind: KindInit, Extended: !e.cfg.Foreign})
	h := &e.handshake
	h.sent = now
	h.next = now.Add(h.delay)
	h.delay = min(2*h.delay, maxInitRepeat)
}

func (e *Endpoint) handshakeTimeout(now time.Time) {
	h := &e.handshake
	if h.next.IsZero() || now.Before(h.next) {
		return
	}
	switch e.state {
	case StateConnecting:
		e.sendInit(now)
	case StateAccepted:
		// "The client repeats its ack of the accept in the same way until the first
		// sync.init arrives."
		e.put(&e.control, &Packet{Kind: KindAck, Acked: 1})
		h.next = now.Add(h.delay)
		h.delay = min(2*h.delay, maxInitRepeat)
	}
}

// accepted takes an accept: the clock, the interval and the extension. A repeat
// is acknowledged again, as any reliable packet is.
func (e *Endpoint) accepted(now time.Time, p *Packet) {
	if e.state != StateConnecting {
		if e.state < StateClosing {
			e.put(&e.control, &Packet{Kind: KindAck, Acked: 1})
		}
		return
	}
	e.heard = now
	e.state = StateAccepted
	e.remote.Add(clocksync.Exchange{Sent: e.handshake.sent, PeerReceived: p.Received, PeerSent: p.Sent, Received: now})
	c := *e.cfg
	c.SyncInterval = min(time.Duration(p.SyncInterval)*time.Microsecond, maxSyncInterval)
	c.Timeout = max(c.Timeout, 3*c.SyncInterval)
	e.cfg = &c
	e.open(now, p.Extended && !c.Foreign, 1, 2)
	e.near = 1
	e.sender.Sample(e.remote.RTT())
	e.put(&e.control, &Packet{Kind: KindAck, Acked: 1})
	e.handshake.delay = initRepeat
	e.handshake.next = now.Add(initRepeat)
	if !e.announced {
		e.announced = true
		e.events = append(e.events, Event{Kind: EventConnected})
	}
}

// disconnected takes the peer's goodbye, if it is one.
func (e *Endpoint) disconnected(now time.Time, p *Packet) {
	if e.side == FromServer {
		// "A server that gets one sends a sync.init first, and ignores the disconnect
		// if a right sync.ack comes within 1 s: it was forged."
		if p.Reliable {
			e.put(&e.control, &Packet{Kind: KindAck, Acked: p.Sequence})
		}
		e.challenge(now, forgedAfter, Close{Reason: ReasonPeer, Remote: true})
		return
	}
	if e.state == StateConnecting {
		e.stats.OutOfState++
		return
	}
	switch {
	case !p.Reliable && len(p.Reason) == 0 && (among(e.sender.Next()-1, p.Sequence) || among(e.near, p.Sequence)):
		e.unknown(now)
	case near(e.near, p.Sequence):
		if p.Reliable {
			e.put(&e.control, &Packet{Kind: KindAck, Acked: p.Sequence})
		}
		e.end(Close{Reason: ReasonPeer, Remote: true, Text: p.ReasonText()})
	default:
		e.stats.OutOfTime++
	}
}

// unknown takes a notice that the server does not know us: it names a packet that
// we sent. A client whose handshake the server has forgotten before anything was
// said begins again.
func (e *Endpoint) unknown(now time.Time) {
	if e.state != StateAccepted || e.sender.InFlight(0) > 0 || e.outgoing.Len() > 0 || e.talked {
		e.end(Close{Reason: ReasonUnknown, Remote: true})
		return
	}
	e.state = StateConnecting
	e.remote = clocksync.FourTime{}
	e.handshake.delay = initRepeat
	e.sendInit(now)
}

// near reports whether a sequence is within obeyedWithin of a number.
func near(n uint64, sequence uint16) bool {
	m := unwrapSent(n, sequence)
	return m <= n+obeyedWithin && n <= m+obeyedWithin
}

// among reports whether a sequence is one of the last obeyedWithin up to n: "among
// the last 1,024 that it sent or acknowledged".
func among(n uint64, sequence uint16) bool {
	m := unwrapSent(n, sequence)
	return m <= n && n-m < obeyedWithin
}

// Close ends the connection. What was sent reliably and is not acknowledged yet
// has the linger time to arrive; then we say goodbye: reliable, and repeated until
// acknowledged, five times at most and for no longer than the linger time. reason
// is shown to a client; a client's own has no place on the wire.
func (e *Endpoint) Close(now time.Time, reason string) {
	if !e.leaving.at.IsZero() {
		return
	}
	c := Close{Reason: ReasonClosed, Text: reason}
	if e.mayTalk() != nil || e.settledAll() {
		e.fail(now, c)
		return
	}
	e.now = now
	e.leaving = leaving{at: now.Add(e.cfg.Linger), close: c}
}

// leaving is a Close that waits for what was sent before it.
type leaving struct {
	at    time.Time // no longer than this
	close Close
}

// settledAll reports whether nothing reliable is on its way.
func (e *Endpoint) settledAll() bool {
	return e.sender.InFlight(0) == 0 && e.outgoing.Len() == 0
}

// leave says goodbye if that is due.
func (e *Endpoint) leave(now time.Time) {
	if !e.leaving.at.IsZero() && (e.settledAll() || !now.Before(e.leaving.at)) {
		e.fail(now, e.leaving.close)
	}
}

// fail ends the connection and tells the peer.
func (e *Endpoint) fail(now time.Time, c Close) {
	e.now = now
	switch e.state {
	case StateClosing, StateClosed:
		return
	case StateConnecting:
		e.end(c)
		return
	}
	if c.Reason != ReasonClosed && c.Text == "" {
		c.Text = c.Reason.String()
	}
	e.leaving.at = time.Time{}
	e.closing = closing{until: now.Add(e.cfg.Linger), sequence: uint16(e.sender.Next()), close: c}
	e.state = StateClosing
	e.sync.next, e.sync.deadline, e.handshake.next = time.Time{}, time.Time{}, time.Time{}
	e.sendDisconnect(now)
}

func (e *Endpoint) sendDisconnect(now time.Time) {
	p := Packet{Kind: KindDisconnect, Reliable: true, Sequence: e.closing.sequence}
	if e.side == FromServer {
		p.Reason = []byte(e.closing.close.Text)[:min(len(e.closing.close.Text), MaxReasonBytes)]
	}
	e.put(&e.control, &p)
	e.closing.sends++
	e.closing.next = now.Add(min(max(2*e.sender.RTT(), e.cfg.Linger/closeSends), e.cfg.Linger))
}

func (e *Endpoint) closeTimeout(now time.Time) {
	if e.state != StateClosing || now.Before(e.closing.next) {
		return
	}
	if e.closing.sends >= closeSends || !now.Before(e.closing.until) {
		e.end(e.closing.close)
		return
	}
	e.sendDisconnect(now)
}

// end lets go of everything but what is still to be read.
func (e *Endpoint) end(c Close) {
	if e.state == StateClosed {
		return
	}
	was := e.state
	e.state = StateClosed
	e.closing.close = c
	e.leaving.at = time.Time{}
	e.closing.next, e.sync.next, e.sync.deadline, e.handshake.next = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	e.outgoing.Clear(e.buffers)
	e.outgoing = waitingMessages{}
	if was != StateConnecting {
		e.sender.Close()
	}
	for _, b := range e.loose {
		e.buffers.Give(b)
	}
	e.loose, e.looseBytes = nil, 0
	e.events = append(e.events, Event{Kind: EventClosed, Close: c})
}

// Release lets go of what a closed endpoint still holds for reading.
func (e *Endpoint) Release() {
	if e.state == StateClosed && e.cfg != nil {
		e.receiver.Close()
		e.parts.Release()
	}
}

// Over returns why the connection is over if it is, whatever of its events was not
// polled yet.
func (e *Endpoint) Over() (why error, over bool) {
	if e.state != StateClosed {
		return nil, false
	}
	return e.closing.close, true
}

// Advance tells the time to what polls before the next Handle*. It does not go back.
func (e *Endpoint) Advance(now time.Time) {
	if now.After(e.now) {
		e.now = now
	}
}
